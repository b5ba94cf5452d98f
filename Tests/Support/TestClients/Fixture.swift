import ParlorJSON
import ParlorReactor
import ParlorSecurity

/// Creates a measurement's people, rooms and contents through the public interface.
package struct Fixture {
    package let server: ServerAddress
    package let loop: EventLoop

    /// The number of concurrent requests of a set-up.
    private static let connections = 8
    /// How often a call is repeated that a busy server could not answer in time.
    private static let repeats = 5

    package init(server: ServerAddress, loop: EventLoop) {
        self.server = server
        self.loop = loop
    }

    package func connect() async throws(ClientError) -> HTTPClient {
        try await HTTPClient.connect(to: server, on: loop)
    }

    package func connect(as person: Person) async throws(ClientError) -> SocketIOClient {
        try await SocketIOClient.connect(to: server, token: person.token, on: loop)
    }

    /// Registers people with random names, so that a server may be measured again.
    package func register(_ count: Int) async throws(ClientError) -> [Person] {
        let requests = (0..<count).map { _ in
            HTTPCall(
                "POST", "/api/auth/register",
                body: JSONWriter.object {
                    $0.member("username", "load-" + Self.randomName())
                    $0.member("password", Self.randomName())
                })
        }
        return try await data(of: requests).map { answer throws(ClientError) in
            guard let token = answer["token"]?.string, let id = answer["user"]?["id"]?.string else {
                throw ClientError("registering was answered with \(answer)")
            }
            return Person(id: id, token: token)
        }
    }

    /// Creates rooms that two people share, and returns their ids.
    package func makeRooms(_ count: Int, of owner: Person, with other: Person) async throws(ClientError) -> [String] {
        let call = HTTPCall(
            "POST", "/api/rooms", token: owner.token, body: JSONWriter.object { $0.member("otherUserId", other.id) })
        return try await data(of: Array(repeating: call, count: count)).map { answer throws(ClientError) in
            guard let id = answer["id"]?.string else { throw ClientError("a new room was answered with \(answer)") }
            return id
        }
    }

    /// Creates a group, and returns its id.
    package func makeGroup(of owner: Person, with others: [String]) async throws(ClientError) -> String {
        let call = HTTPCall(
            "POST", "/api/rooms", token: owner.token,
            body: JSONWriter.object { $0.member("participantIds", array: { for id in others { $0.string(id) } }) })
        guard let id = try await data(of: [call])[0]["id"]?.string else { throw ClientError("a new group has no id") }
        return id
    }

    /// Sends all calls in any order, and returns the `data` of their answers in the calls' order. Repeats those that are
    /// answered with 503, as clients do.
    @discardableResult
    package func data(of calls: [HTTPCall]) async throws(ClientError) -> [JSONValue] {
        var clients: [HTTPClient] = []
        for _ in 0..<min(Self.connections, calls.count) { clients.append(try await connect()) }
        defer { for client in clients { client.close() } }
        var answers = try await HTTPBatch(calls, on: clients).run()
        for _ in 0..<Self.repeats {
            let refused = answers.indices.filter { answers[$0].status == 503 }
            if refused.isEmpty { break }
            try? await Task.sleep(for: .seconds(1))  // what `Retry-After` says
            let repeated = try await HTTPBatch(refused.map { calls[$0] }, on: clients).run()
            for (index, answer) in zip(refused, repeated) { answers[index] = answer }
        }
        return try answers.map { answer throws(ClientError) in try answer.data() }
    }

    private static func randomName() -> String {
        SystemRandomness().bytes(10).reduce(into: "") { name, byte in
            name += String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
    }
}

/// A person with an access token.
package struct Person: Sendable {
    package let id: String
    package let token: String
}
