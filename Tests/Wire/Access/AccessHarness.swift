import ParlorContracts
import ParlorJSON
import ParlorSecurity
import ParlorTestSupport
import ParlorTesting
import ParlorWorkers
import Testing

/// All of Parlor in this process, as clients see it, with four people and two rooms.
final class AccessHarness: Sendable {
    struct Person: Sendable {
        let id: String
        let username: String
        let token: String
        let refreshToken: String
    }

    struct Session: Sendable {
        let id: String
        let token: String
        let refreshToken: String
    }

    let port: UInt16
    /// The services' manifests.
    let manifests: [Manifest]
    let alice: Person
    let bob: Person
    /// A participant in a room with Dave, and a stranger to Alice and Bob.
    let carol: Person
    let dave: Person
    /// The room of Alice and Bob.
    let room: String
    /// The room of Carol and Dave.
    let otherRoom: String
    /// The token of a session that Alice has ended.
    let endedToken: String
    private let key: JSONWebKey
    private let workers: WorkerPool

    static func run(on engine: Engine, _ test: (AccessHarness) async throws -> Void) async throws {
        let server = try engine == .postgres ? PostgresServer(named: "access") : nil
        let workers = WorkerPool(threads: 4, maxWaiting: 64)
        try await withCleanup {
            try await ParlorHarness.run(databaseURL: server?.address) { parlor in
                try await test(try await AccessHarness(parlor, workers))
            }
        } _: {
            await workers.close()
            try server?.stop()
        }
    }

    private init(_ parlor: ParlorHarness, _ workers: WorkerPool) async throws {
        (port, manifests, key) = (parlor.port, parlor.manifests, parlor.key)
        self.workers = workers
        let calls = AccessCalls(port: port, workers)
        alice = try await calls.register("alice")
        bob = try await calls.register("bob")
        carol = try await calls.register("carol")
        dave = try await calls.register("dave")
        room = try await calls.makeRoom(alice, with: bob)
        otherRoom = try await calls.makeRoom(carol, with: dave)
        let session = try await calls.signIn(alice)
        let logout = try await calls.http(
            "POST", "/api/auth/logout", token: session.token, body: #"{"refreshToken":"\#(session.refreshToken)"}"#)
        try #require(logout.status == 204)
        endedToken = session.token
        try await calls.waitUntilRefused(session.token)
    }

    var calls: AccessCalls { AccessCalls(port: port, workers) }

    /// Returns a person's token that expired a minute ago.
    func expiredToken(of person: Person) -> String {
        let now = SystemClock().now().milliseconds / 1000
        let caller = Caller(id: person.id, username: person.username, firstName: nil)
        return JSONWebToken.sign(
            AccessClaims(caller: caller, expiresAt: now - 60).json(issuedAt: now - 120), with: key)
    }

    // MARK: What there is

    enum Registration { case forTheFirstTime, again }

    /// Returns the ids of existing items, all of one room.
    func ids(in room: String, of person: Person, and other: Person) async throws -> Ids {
        let message = try await calls.created("/api/rooms/\(room)/messages", #"{"text":"secret"}"#, as: person)
        let element = try await calls.created(
            "/api/rooms/\(room)/elements", #"{"type":"note","content":{"secret":1}}"#, as: person)
        try await registerDevice(of: person)
        return Ids(
            room: room, message: message, element: element, person: other.id, device: device(of: person),
            refreshToken: person.refreshToken)
    }

    private func device(of person: Person) -> String { Base16.encode(Array(person.id.utf8)) }

    /// Says whether the device was registered already.
    @discardableResult
    func registerDevice(of person: Person) async throws -> Registration {
        let body = #"{"token":"\#(device(of: person))","platform":"ios","environment":"production"}"#
        let answer = try await calls.http("POST", "/api/devices", token: person.token, body: body)
        try #require(answer.status == 200 || answer.status == 201, "\(answer)")
        return answer.status == 200 ? .again : .forTheFirstTime
    }
}

/// The ids that a call names.
struct Ids: Sendable {
    var room: String
    var message: String
    var element: String
    var person: String
    var device: String
    var refreshToken: String
    /// A session's id, as in the list of sessions.
    var session = "00000000-0000-7000-8000-000000000005"

    /// Ids that never existed.
    static let missing = Ids(
        room: "00000000-0000-7000-8000-000000000001", message: "00000000-0000-7000-8000-000000000002",
        element: "00000000-0000-7000-8000-000000000003", person: "00000000-0000-7000-8000-000000000004",
        device: String(repeating: "0a", count: 32), refreshToken: "none")

    /// Ids as raw JSON, which no database need accept.
    static let nul = Ids(
        room: "\\u0000", message: "\\u0000", element: "\\u0000", person: "\\u0000", device: "%00",
        refreshToken: "\\u0000")

    /// These ids, but with the items of another room.
    func withThings(of other: Ids) -> Ids {
        var ids = self
        ids.message = other.message
        ids.element = other.element
        return ids
    }

    func path(_ pattern: String) -> String {
        pattern.split(separator: "/").map { part in
            switch part {
            case ":roomId": room
            case ":messageId": message
            case ":elementId": element
            case ":userId": person
            case ":token": device
            case ":id": session
            default: String(part)
            }
        }.reduce("") { $0 + "/" + $1 }
    }
}

private enum Base16 {
    static func encode(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
