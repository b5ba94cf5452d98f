import JSON
import Reactor
import TestClients

/// `GET /api/rooms/my-rooms` of a person with many rooms, all with messages and elements: over one connection, and over
/// eight.
struct MyRooms {
    let world: World
    let roomCount: Int
    let seconds: Int

    private static let messagesInARoom = 3
    private static let elementsInARoom = 2
    private static let connections = [1, 8]

    func measure() async throws -> [Row] {
        let call = try await furnish()
        var rows: [Row] = []
        for count in Self.connections { rows.append(try await measure(call, connections: count)) }
        return rows
    }

    /// The call to measure, of a person whose rooms are ready.
    private func furnish() async throws(ClientError) -> HTTPCall {
        let people = try await world.register(2)
        let (caller, other) = (people[0], people[1])
        let rooms = try await world.makeRooms(roomCount, of: caller, with: other)
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
        try await world.data(of: calls)
        return HTTPCall("GET", "/api/rooms/my-rooms", token: caller.token)
    }

    private func measure(_ call: HTTPCall, connections: Int) async throws(ClientError) -> Row {
        var clients: [HTTPClient] = []
        for _ in 0..<connections { clients.append(try await world.connect()) }
        defer { for client in clients { client.close() } }
        // The first answer is looked into; those that follow have to be as long, for nothing changes.
        guard let first = try await HTTPBatch([call], on: clients).run().first else { throw ClientError("no answer") }
        try check(first)
        let load = RepeatedCall(call, on: clients, for: .seconds(seconds), loop: world.loop)
        try await load.run { answer in answer.status == 200 && answer.body.count == first.body.count }
        return Row(
            name: "my-rooms, \(roomCount) rooms, \(connections) connection\(connections == 1 ? "" : "s")",
            figures: load.latencies.figures() + [
                Figure("answers", Double(load.latencies.count) / load.elapsedSeconds, .perSecond),
                Figure("bytes", first.body.count),
            ],
            faults: load.wrongAnswers == 0 ? [] : ["\(load.wrongAnswers) answers were not like the first"])
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
