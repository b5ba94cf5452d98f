import ParlorJSON
import ParlorTestSupport
import ParlorWorkers
import Testing

/// A client's view of an answer: everything but the time.
struct Seen: Sendable, Equatable, CustomStringConvertible {
    let status: Int
    let head: [String]
    let body: String

    init(_ response: RawResponse) {
        status = response.status
        head = response.head.split(separator: "\r\n").map(String.init).filter { !$0.lowercased().hasPrefix("date:") }
        body = response.body
    }

    var description: String { "\(head.first ?? "") \(body)" }
}

/// Calls of clients, each over a connection of its own.
struct AccessCalls: Sendable {
    let port: UInt16
    private let workers: WorkerPool

    init(port: UInt16, _ workers: WorkerPool) {
        self.port = port
        self.workers = workers
    }

    /// Calls with one request id for all, so that two answers may be equal to the byte.
    func http(_ method: String, _ target: String, token: String?, body: String = "") async throws -> Seen {
        let authorization = token.map { ["Authorization: Bearer \($0)"] } ?? []
        let client = try ThreadedClient(port: port, workers)
        return Seen(
            try await client.request(
                method, target, headers: authorization + ["X-Request-Id: access-matrix"], body: body))
    }

    /// Returns the acks of these events, in order, over one socket; or the CONNECT's refusal.
    func acks(_ events: [(name: String, payload: String)], token: String?) async throws -> [String] {
        let client = try await ThreadedClient(port: port, workers).openSocketIO()
        func next(_ prefix: String) async throws -> String? {
            while case let text = try await client.receive(), text != "closed" {
                if text.hasPrefix(prefix) { return text }
            }
            return nil
        }
        try await client.send(token.map { "40{\"token\":\"\($0)\"}" } ?? "40")
        let connected = try #require(try await next("4"))
        guard connected.hasPrefix("40") else { return [connected] }
        var acks: [String] = []
        for event in events {
            try await client.emit(event.name, event.payload, ack: 7)
            acks.append(try await next("437") ?? "closed")
        }
        return acks
    }

    // MARK: Making what there is

    func register(_ name: String) async throws -> AccessHarness.Person {
        let answer = try await http(
            "POST", "/api/auth/register", token: nil, body: #"{"username":"\#(name)","password":"password-123"}"#)
        try #require(answer.status == 201, "\(answer)")
        let data = try #require(try JSONValue(parsing: answer.body)["data"])
        return AccessHarness.Person(
            id: try #require(data["user"]?["id"]?.string), username: name,
            token: try #require(data["token"]?.string), refreshToken: try #require(data["refreshToken"]?.string))
    }

    /// Begins another session of a person.
    func signIn(_ person: AccessHarness.Person) async throws -> AccessHarness.Session {
        let answer = try await http(
            "POST", "/api/auth/login", token: nil,
            body: #"{"username":"\#(person.username)","password":"password-123"}"#)
        let data = try #require(try JSONValue(parsing: answer.body)["data"])
        let token = try #require(data["token"]?.string)
        let list = try await http("GET", "/api/auth/sessions", token: token)
        let sessions = try #require(try JSONValue(parsing: list.body)["data"]?.array)
        let session = try #require(sessions.first { $0["current"]?.bool == true })
        return AccessHarness.Session(
            id: try #require(session["id"]?.string), token: token,
            refreshToken: try #require(data["refreshToken"]?.string))
    }

    func isAccepted(_ token: String) async throws -> Bool {
        try await http("GET", "/api/users/me", token: token).status == 200
    }

    /// Waits until the token is refused: a gateway learns within a second that a session has ended.
    func waitUntilRefused(_ token: String) async throws {
        let end = ContinuousClock.now + .seconds(10)
        while try await isAccepted(token) { try #require(.now < end, "the token is still accepted") }
    }

    func makeRoom(_ person: AccessHarness.Person, with other: AccessHarness.Person) async throws -> String {
        try await created("/api/rooms", #"{"otherUserId":"\#(other.id)"}"#, as: person)
    }

    /// Returns the id of the created item.
    func created(_ target: String, _ body: String, as person: AccessHarness.Person) async throws -> String {
        let answer = try await http("POST", target, token: person.token, body: body)
        try #require(answer.status == 201, "\(answer)")
        return try #require(try JSONValue(parsing: answer.body)["data"]?["id"]?.string)
    }
}
