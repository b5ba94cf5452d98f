import ParlorJSON
import ParlorReactor
import TestClients

/// `GET /api/rooms/my-rooms` of a person with many rooms, all with messages and elements.
///
/// First it is measured after one change, after changes of a tenth of the rooms, and after so many
/// that the list is composed whole. Then it is measured unchanged, over one connection and over
/// eight, and last for clients that have the list, over up to 32.
struct MyRooms {
    let fixture: Fixture
    let roomCount: Int
    let seconds: Int

    private static let messagesInARoom = 3
    private static let elementsInARoom = 2
    private static let connections = [1, 8]
    /// The numbers of connections of clients that have the list: an answer without a body is cheap.
    private static let connectionsOfKnown = [1, 8, 32]
    private static let path = "/api/rooms/my-rooms"

    /// A person with rooms, and somebody who is in all of them.
    private struct House {
        let caller: Person
        let other: Person
        let rooms: [String]

        func call(unlessStill tag: String? = nil) -> HTTPCall {
            HTTPCall("GET", MyRooms.path, token: caller.token, unlessStill: tag)
        }
    }

    func measure() async throws -> [Row] {
        let house = try await furnish()
        var rows: [Row] = []
        for count in changedRooms { rows.append(try await measureAnew(house, changing: count)) }
        for count in Self.connections { rows.append(try await measureUnchanged(house, connections: count)) }
        for count in Self.connectionsOfKnown { rows.append(try await measureKnown(house, connections: count)) }
        return rows
    }

    /// The numbers of changes before a call: one, a tenth, and so many that the list is composed
    /// whole.
    private var changedRooms: [Int] { roomCount < 20 ? [1] : [1, roomCount / 10, min(roomCount, 257)] }

    private func furnish() async throws(ClientError) -> House {
        let people = try await fixture.register(2)
        let (caller, other) = (people[0], people[1])
        let rooms = try await fixture.makeRooms(roomCount, of: caller, with: other)
        var calls: [HTTPCall] = []
        for room in rooms {
            for number in 1...Self.messagesInARoom {
                let text = JSONWriter.object { $0.member("text", "message \(number), which the other has not read") }
                calls.append(HTTPCall("POST", "/api/rooms/\(room)/messages", token: other.token, body: text))
            }
            for _ in 0..<Self.elementsInARoom {
                let note = JSONWriter.object { json in
                    json.member("type", "note")
                    json.member("content", object: { $0.member("text", "on the board") })
                }
                calls.append(HTTPCall("POST", "/api/rooms/\(room)/elements", token: other.token, body: note))
            }
        }
        try await fixture.data(of: calls)
        return House(caller: caller, other: other, rooms: rooms)
    }

    /// Measures lists while somebody else renames rooms before each call: no two answers are alike,
    /// and each has to begin with those rooms by their new name.
    private func measureAnew(_ house: House, changing count: Int) async throws(ClientError) -> Row {
        let client = try await fixture.connect()
        defer { client.close() }
        var latencies = Latencies()
        var stale = 0
        let end = LoopInstant.now() + .seconds(seconds)
        while LoopInstant.now() < end {
            let name = "name \(count) \(latencies.count)"
            let body = JSONWriter.object { $0.member("name", name) }
            try await fixture.data(
                of: house.rooms.prefix(count).map {
                    HTTPCall("PUT", "/api/rooms/\($0)/name", token: house.other.token, body: body)
                })
            let start = LoopInstant.now()
            let answers = try await HTTPBatch([house.call()], on: [client]).run()
            latencies.record(since: start)
            let newest = try answers[0].data().array?.prefix(count) ?? []
            if newest.count < count || newest.contains(where: { $0["name"]?.string != name }) { stale += 1 }
        }
        return Row(
            name: "my-rooms, \(roomCount) rooms, each after \(count == 1 ? "a change" : "changes of \(count)")",
            figures: latencies.figures(),
            faults: stale == 0 ? [] : ["\(stale) answers lacked a change that was acknowledged before"])
    }

    private func measureUnchanged(_ house: House, connections: Int) async throws(ClientError) -> Row {
        let call = house.call()
        // The first answer is checked; the others have to be as long, as nothing changes.
        guard let first = try await answer(to: call) else { throw ClientError("no answer") }
        try check(first)
        return try await measure("unchanged", call, connections, bytes: first.body.count) { answer in
            answer.status == 200 && answer.body.count == first.body.count
        }
    }

    private func measureKnown(_ house: House, connections: Int) async throws(ClientError) -> Row {
        let tag = try await answer(to: house.call())?.values(of: "etag").first ?? "none"
        return try await measure("304", house.call(unlessStill: tag), connections, bytes: 0) { answer in
            answer.status == 304 && answer.body.isEmpty
        }
    }

    private func answer(to call: HTTPCall) async throws(ClientError) -> HTTPAnswer? {
        let client = try await fixture.connect()
        defer { client.close() }
        return try await HTTPBatch([call], on: [client]).run().first
    }

    private func measure(
        _ what: String, _ call: HTTPCall, _ connections: Int, bytes: Int, isRight: @escaping (HTTPAnswer) -> Bool
    ) async throws(ClientError) -> Row {
        var clients: [HTTPClient] = []
        for _ in 0..<connections { clients.append(try await fixture.connect()) }
        defer { for client in clients { client.close() } }
        let load = RepeatedCall(call, on: clients, for: .seconds(seconds), loop: fixture.loop)
        try await load.run(isRight: isRight)
        return Row(
            name:
                "my-rooms, \(roomCount) rooms, \(what), \(connections) connection\(connections == 1 ? "" : "s")",
            figures: load.latencies.figures() + [
                Figure("answers", Double(load.latencies.count) / load.elapsedSeconds, .perSecond),
                Figure("bytes", bytes),
            ],
            faults: load.wrongAnswers == 0 ? [] : ["\(load.wrongAnswers) answers were not as they should be"])
    }

    private func check(_ answer: HTTPAnswer) throws(ClientError) {
        let rooms = try answer.data().array ?? []
        let hasAll = rooms.allSatisfy { room in
            room["badges"]?["messages"]?.int == Self.messagesInARoom
                && room["elementCount"]?.int == Self.elementsInARoom
        }
        guard rooms.count == roomCount, hasAll else {
            throw ClientError("my-rooms lacks some of the \(roomCount) rooms, or of what is in them")
        }
    }
}
