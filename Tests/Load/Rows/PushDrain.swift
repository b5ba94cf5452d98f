import ParlorJSON
import ParlorReactor
import TestClients

/// Notifications to a fake Apple server, and what they cost the senders of messages.
///
/// In turns: sends while thousands of notifications go out, then sends with none to send. So a
/// change in the machine's speed affects both.
struct PushDrain {
    let fixture: Fixture
    /// The path of the fake Apple server's log.
    let logPath: String
    /// The notifications of one turn.
    let notifications: Int

    private static let turns = 3
    /// The limit of devices per person.
    private static let devicesPerPerson = 25
    private static let people = 8
    private static let pollInterval: Duration = .milliseconds(20)
    /// The time after which a notification counts as lost.
    private static let maxWait: Duration = .seconds(120)

    func measure() async throws(ClientError) -> Row {
        let pair = try await fixture.register(2)
        let room = try await fixture.makeRooms(1, of: pair[0], with: pair[1])[0]
        let without = try await RoomSocket.join(room, as: pair[0], in: fixture)
        let with = try await RoomSocket.join(room, as: pair[1], in: fixture)
        defer {
            without.close()
            with.close()
        }
        let messages = try await furnish()
        var log = try NotificationLog(logPath)

        var seconds = 0.0
        for _ in 0..<Self.turns {
            try await fixture.data(of: messages)
            let time = try await drain(&log, sendingOn: with)
            seconds += time / .seconds(1)
            try await send(on: without, for: time)
        }
        log.read()
        // The answer to a request arrives after all events that the server sent before it.
        for socket in [without, with] { try await socket.leave() }
        let all = Self.turns * notifications
        let sent = without.acknowledged + with.acknowledged
        var faults = without.ledger.faults(sent: sent) + with.ledger.faults(sent: sent)
        if log.requests != all { faults.append("\(log.requests) of \(all) notifications went out") }
        let (quiet, loaded) = (without.latencies, with.latencies)
        return Row(
            name: "\(all) notifications in \(Self.turns) turns, each answered after 50 ms; acks meanwhile",
            figures: [
                Figure("notifications", Double(all) / seconds, .perSecond),
                Figure("connections", log.connections.count),
                Figure("provider tokens", log.tokens.count), Figure("sends without", quiet.count),
            ] + quiet.figures(named: "ack without ") + [Figure("sends with", loaded.count)]
                + loaded.figures(named: "ack with ")
                + [Figure("p99 with to without", loaded.quantile(0.99) / max(quiet.quantile(0.99), 0.001), .ratio)],
            faults: faults)
    }

    /// Creates people with devices.
    ///
    /// - Returns: messages to them that cause one turn's notifications.
    private func furnish() async throws(ClientError) -> [HTTPCall] {
        let host = try await fixture.register(1)[0]
        let people = try await fixture.register(Self.people)
        var rooms: [String] = []
        for person in people {
            rooms += try await fixture.makeRooms(1, of: host, with: person)
            try await fixture.data(
                of: (0..<Self.devicesPerPerson).map { number in
                    HTTPCall(
                        "POST", "/api/devices", token: person.token,
                        body: JSONWriter.object {
                            $0.member("token", person.id.filter { $0 != "-" } + "\(number + 10)")
                            $0.member("platform", "ios")
                            $0.member("environment", "production")
                        })
                })
        }
        return (0..<(notifications / Self.devicesPerPerson)).map { number in
            HTTPCall(
                "POST", "/api/rooms/\(rooms[number % rooms.count])/messages", token: host.token,
                body: JSONWriter.object { $0.member("text", "A message to a phone that sleeps, number \(number).") })
        }
    }

    /// Sends messages from the first notification until the last.
    ///
    /// - Returns: the duration.
    private func drain(_ log: inout NotificationLog, sendingOn socket: RoomSocket) async throws(ClientError) -> Duration
    {
        let limit = LoopInstant.now() + Self.maxWait
        let begin = log.requests
        while log.requests == begin {
            guard LoopInstant.now() < limit else { throw ClientError("no notification went out") }
            await fixture.loop.pause(Self.pollInterval)
            log.read()
        }
        let start = LoopInstant.now()
        var nextLook = start
        while log.requests < begin + notifications {
            try await socket.send()
            let now = LoopInstant.now()
            guard now < limit else { throw ClientError("not all notifications went out") }
            if now < nextLook { continue }
            log.read()
            nextLook = now + Self.pollInterval
        }
        return LoopInstant.now() - start
    }

    private func send(on socket: RoomSocket, for time: Duration) async throws(ClientError) {
        let end = LoopInstant.now() + time
        while LoopInstant.now() < end { try await socket.send() }
    }
}
