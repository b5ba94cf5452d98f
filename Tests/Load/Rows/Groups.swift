import ParlorJSON
import ParlorReactor
import ParlorStorage
import TestClients

/// Groups of 100 people beside direct rooms, in turns: sends, reads of one message, lists of rooms, and the memory of a
/// gateway, which keeps the newest entries of logs.
struct Groups {
    private enum Kind: CaseIterable {
        case direct, group
    }

    let fixture: Fixture
    let server: ServerProcesses
    /// The folder of the SQLite databases, in which the log's bytes are counted; nil to leave them out.
    let dataFolder: String?

    private static let people = 100
    private static let rooms = 8
    private static let rounds = 5
    private static let sendsAlone = 200
    private static let sends = 2000
    private static let inFlight = 8
    /// The number of sends that fill a gateway's memory for entries.
    private static let kept = 10_000
    private static let readMessages = 20
    private static let listedRooms = 200

    func measure() async throws -> [Row] {
        var people: [Person] = []
        // One after the other: a registration costs 0.2 s, and may be refused while others wait.
        for _ in 0..<Self.people { people += try await fixture.register(1) }
        return try await measureSends(people) + [measureReads(people), measureLists(people)]
    }

    // MARK: Sends

    /// Two people of each room have joined it.
    private func measureSends(_ people: [Person]) async throws -> [Row] {
        var sockets: [Kind: [RoomSocket]] = [:]
        for kind in Kind.allCases {
            for room in try await makeRooms(Self.rooms, kind, of: people) {
                for person in people.prefix(2) {
                    sockets[kind, default: []].append(try await RoomSocket.join(room, as: person, in: fixture))
                }
            }
        }
        defer { for socket in sockets.values.joined() { socket.close() } }

        // First, as freed memory stays the process's.
        let memory = try await measureMemory(sockets)
        var alone: [Kind: Latencies] = [:]
        var (messaging, gateway): ([Kind: Double], [Kind: Double]) = ([:], [:])
        for _ in 0..<Self.rounds {
            for _ in 0..<Self.sendsAlone {
                for (kind, own) in sockets {
                    let start = LoopInstant.now()
                    try await own[0].send()
                    alone[kind, default: Latencies()].record(since: start)
                }
            }
            for (kind, own) in sockets {
                let before = (server.processorTime(of: "messaging"), server.processorTime(of: "gateway"))
                try await CountedSends(Self.sends).run(on: own, inFlight: Self.inFlight)
                messaging[kind, default: 0] += server.processorTime(of: "messaging") - before.0
                gateway[kind, default: 0] += server.processorTime(of: "gateway") - before.1
            }
        }
        let rooms = sockets.mapValues { $0[0].room }
        var figures = Self.figures("ack p50", alone.mapValues { $0.quantile(0.5) }, .milliseconds)
        for (name, used) in [("messaging", messaging), ("gateway", gateway)] {
            figures += Self.microseconds("of \(name) a send", used, Self.rounds * Self.sends)
        }
        if let bytes = try logBytes(of: rooms) { figures += Self.figures("bytes of log a send", bytes, .count) }
        for socket in sockets.values.joined() { try await socket.leave() }
        return [Self.row("sends", figures, faults: Self.faults(of: Array(sockets.values.joined()))), memory]
    }

    private static func faults(of sockets: [RoomSocket]) -> [String] {
        sockets.flatMap { socket in
            let sent = sockets.reduce(0) { $0 + ($1.room == socket.room ? $1.acknowledged : 0) }
            return socket.ledger.faults(sent: sent).map { "room \(socket.room): \($0)" }
        }
    }

    /// Returns the average bytes of the entries of each room in messaging's log; nil if its database is elsewhere.
    private func logBytes(of rooms: [Kind: String]) throws -> [Kind: Double]? {
        guard let dataFolder, let database = try? DatabaseFile(existing: "\(dataFolder)/messaging.db") else {
            return nil
        }
        defer { database.close() }
        return try database.read { connection in
            try rooms.mapValues { room in
                try connection.first(
                    "SELECT sum(length(participants) + length(emissions)), count(*) FROM events WHERE room_id = $1",
                    room
                ) { Double($0.int(0)) / Double($0.int(1)) } ?? 0
            }
        }
    }

    private func measureMemory(_ sockets: [Kind: [RoomSocket]]) async throws -> Row {
        var memory: [Kind: Double] = [:]
        for kind in Kind.allCases {
            try await CountedSends(Self.kept).run(on: sockets[kind] ?? [], inFlight: Self.inFlight)
            memory[kind] = Double(server.memory(of: "gateway")) / 1_048_576
        }
        let above = (memory[.group] ?? 0) - (memory[.direct] ?? 0)
        return Self.row(
            "a gateway's memory after \(Self.kept) sends",
            Self.figures("MiB", memory, .count) + [Figure("MiB above", above, .count)])
    }

    // MARK: Reads

    /// Measures reads of one message each: by all others of a group, and by the other person of as many direct rooms.
    private func measureReads(_ people: [Person]) async throws -> Row {
        let (sender, readers) = (people[0], Array(people.dropFirst()))
        var rooms: [Kind: [String]] = [.group: try await makeRooms(1, .group, of: people)]
        for reader in readers {
            rooms[.direct, default: []] += try await fixture.makeRooms(1, of: sender, with: reader)
        }
        var (all, messaging): ([Kind: Double], [Kind: Double]) = ([:], [:])
        for _ in 0..<Self.readMessages {
            for (kind, own) in rooms {
                let messages = try await send(in: own, by: sender)
                let calls = readers.indices.map { index in
                    let place = kind == .group ? 0 : index
                    return Self.read(messages[place], in: own[place], by: readers[index])
                }
                let before = (server.processorTime(), server.processorTime(of: "messaging"))
                try await fixture.data(of: calls)
                all[kind, default: 0] += server.processorTime() - before.0
                messaging[kind, default: 0] += server.processorTime(of: "messaging") - before.1
            }
        }
        let reads = Self.readMessages * readers.count
        return Self.row(
            "reads of one message by \(readers.count) people",
            Self.microseconds("a read", all, reads) + Self.microseconds("of messaging a read", messaging, reads))
    }

    /// Sends a message in each room, and returns their ids.
    private func send(in rooms: [String], by person: Person) async throws -> [String] {
        let text = JSONWriter.object { $0.member("text", "A message that everybody reads.") }
        let calls = rooms.map { HTTPCall("POST", "/api/rooms/\($0)/messages", token: person.token, body: text) }
        return try await ids(of: calls)
    }

    private static func read(_ message: String, in room: String, by person: Person) -> HTTPCall {
        let body = JSONWriter.object { $0.member("messageIds", [message]) }
        return HTTPCall("POST", "/api/rooms/\(room)/messages/read", token: person.token, body: body)
    }

    // MARK: Lists

    /// Measures `my-rooms` of two people, composed in full: one has direct rooms, the other one groups.
    private func measureLists(_ people: [Person]) async throws -> Row {
        var callers: [Kind: Person] = [:]
        var rooms: [Kind: [String]] = [:]
        for kind in Kind.allCases {
            let caller = try await fixture.register(1)[0]
            callers[kind] = caller
            rooms[kind] = try await makeRooms(Self.listedRooms, kind, of: [caller] + people.dropLast())
        }
        for own in rooms.values { _ = try await send(in: own, by: people[0]) }
        var (times, bytes): ([Kind: Latencies], [Kind: Double]) = ([:], [:])
        var faults: [String] = []
        for round in 0..<Self.rounds {
            for (kind, caller) in callers {
                let name = JSONWriter.object { $0.member("name", "round \(round)") }
                try await fixture.data(
                    of: rooms[kind, default: []].map {
                        HTTPCall("PUT", "/api/rooms/\($0)/name", token: people[0].token, body: name)
                    })
                let client = try await fixture.connect()
                defer { client.close() }
                let call = HTTPCall("GET", "/api/rooms/my-rooms", token: caller.token)
                let start = LoopInstant.now()
                let answer = try await HTTPBatch([call], on: [client]).run()[0]
                times[kind, default: Latencies()].record(since: start)
                bytes[kind] = Double(answer.body.count)
                if try answer.data().array?.count != Self.listedRooms { faults.append("not all rooms") }
            }
        }
        return Self.row(
            "my-rooms with \(Self.listedRooms), composed in full",
            Self.figures("p50", times.mapValues { $0.quantile(0.5) }, .milliseconds)
                + Self.figures("bytes", bytes, .count),
            faults: faults)
    }

    // MARK: Both kinds

    /// Creates rooms of the first person with the second one, or with all.
    private func makeRooms(_ count: Int, _ kind: Kind, of people: [Person]) async throws -> [String] {
        if kind == .direct { return try await fixture.makeRooms(count, of: people[0], with: people[1]) }
        let data = JSONWriter.object { $0.member("participantIds", people.dropFirst().map(\.id)) }
        return try await ids(
            of: Array(repeating: HTTPCall("POST", "/api/rooms", token: people[0].token, body: data), count: count))
    }

    /// Returns the ids of what the calls create.
    private func ids(of calls: [HTTPCall]) async throws -> [String] {
        try await fixture.data(of: calls).map { answer throws(ClientError) in
            guard let id = answer["id"]?.string else { throw ClientError("no id in \(answer)") }
            return id
        }
    }

    private static func row(_ what: String, _ figures: [Figure], faults: [String] = []) -> Row {
        Row(name: "groups of \(people) beside direct rooms: \(what)", figures: figures, faults: faults)
    }

    private static func microseconds(_ what: String, _ seconds: [Kind: Double], _ count: Int) -> [Figure] {
        figures("µs \(what)", seconds.mapValues { $0 / Double(count) * 1e6 }, .count)
    }

    private static func figures(_ name: String, _ values: [Kind: Double], _ unit: Figure.Unit) -> [Figure] {
        let (direct, group) = (values[.direct] ?? 0, values[.group] ?? 0)
        return [
            Figure("\(name), direct", direct, unit), Figure("\(name), group", group, unit),
            Figure("\(name), ratio", direct > 0 ? group / direct : 0, .timeRatio),
        ]
    }
}

/// Sends a number of messages, some at once on each socket. Run once.
private final class CountedSends {
    private var left: Int
    private var pending = 0
    private var completion: ((Result<Void, ClientError>) -> Void)?

    init(_ count: Int) { left = count }

    func run(on sockets: [RoomSocket], inFlight: Int) async throws(ClientError) {
        let outcome: Result<Void, ClientError> = await withCheckedContinuation { continuation in
            completion = { continuation.resume(returning: $0) }
            for socket in sockets { for _ in 0..<inFlight { sendNext(on: socket) } }
        }
        try outcome.get()
    }

    private func sendNext(on socket: RoomSocket) {
        guard left > 0 else {
            if pending == 0 { finish(.success(())) }
            return
        }
        left -= 1
        pending += 1
        socket.send { [self] outcome in
            pending -= 1
            if case .failure = outcome { return finish(outcome) }
            sendNext(on: socket)
        }
    }

    /// Ends the run; only the first outcome counts.
    private func finish(_ outcome: Result<Void, ClientError>) {
        completion?(outcome)
        completion = nil
    }
}
