import Accounts
import Contracts
import Elements
import Gateway
import JSON
import MessageBus
import Messaging
import Push
import Reactor
import Rooms
import Security
import ServiceKit
import Storage
import Synchronization
import TestSupport
import Testing
import Workers

/// Where the services keep what they know.
enum Engine: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case sqlite = "SQLite"
    case postgres = "PostgreSQL"

    var testDescription: String { rawValue }
}

/// All of Parlor in this process, as its clients meet it, with four people and two rooms.
final class AccessWorld: Sendable {
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
    /// What the services have announced.
    let manifests: [Manifest]
    let alice: Person
    let bob: Person
    /// In a room with Dave, and a stranger to Alice and Bob.
    let carol: Person
    let dave: Person
    /// Of Alice and Bob.
    let room: String
    /// Of Carol and Dave.
    let otherRoom: String
    /// Of a session of Alice's that she has ended.
    let endedToken: String
    private let key: JSONWebKey
    private let workers: WorkerPool

    private static let services: [any Service.Type] = [
        AccountsService.self, RoomsService.self, MessagingService.self, ElementsService.self, PushService.self,
    ]

    static func run(on engine: Engine, _ test: (AccessWorld) async throws -> Void) async throws {
        let folder = TemporaryFolder()
        let factories = services.map { ComponentFactory.service($0) } + [Gateway.factory]
        var settings = Program.settings
        for setting in factories.flatMap(\.settings) where !settings.contains(where: { $0.name == setting.name }) {
            settings.append(setting)
        }
        // Passwords are hashed slowly where this is not optimized and much else runs.
        var arguments = [
            "--port", "0", "--data", folder.path, "--rate-limits", "off", "--log-level", "error", "--request-timeout",
            "60s",
        ]
        let server = try engine == .postgres ? PostgresServer(named: "access") : nil
        if let server { arguments += ["--database-url", server.address] }
        let group = try EventLoopGroup(loopCount: 2)
        let bus = InProcessBus()
        let announced = Mutex<[String: Manifest]>([:])
        try bus.subscribe(Subject.announcements) { message in
            guard let manifest = message.data["manifest"].flatMap(Manifest.init) else { return }
            announced.withLock { $0[manifest.service] = manifest }
        }
        let node = Node(
            configuration: try Configuration(settings, arguments: arguments), bus: bus, isBusShared: false,
            group: group, log: .silent, services: Set(factories.compactMap(\.service)))
        let workers = WorkerPool(threads: 4, maxWaiting: 64)
        var running: [any Component] = []
        let outcome: Result<Void, any Error>
        do {
            for factory in factories { running.append(try #require(try await factory.start(node, running))) }
            let port = try #require(running.last?.address.flatMap { UInt16($0.split(separator: ":").last ?? "") })
            let world = try await AccessWorld(
                port: port, manifests: announced.withLock { $0.values.sorted { $0.service < $1.service } },
                key: .hs256(secret: try SecretFile.loadOrCreate(folder.file("jwt.secret"))), workers)
            outcome = .success(try await test(world))
        } catch {
            outcome = .failure(error)
        }
        for component in running.reversed() { await component.stop(within: .seconds(1)) }
        await workers.close()
        await Task.detached { group.shutdown() }.value
        try server?.stop()
        try outcome.get()
    }

    private init(port: UInt16, manifests: [Manifest], key: JSONWebKey, _ workers: WorkerPool) async throws {
        self.port = port
        self.manifests = manifests
        self.key = key
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

    /// A person's token that was good until a minute ago.
    func expiredToken(of person: Person) -> String {
        let now = SystemClock().now().milliseconds / 1000
        let caller = Caller(id: person.id, username: person.username, firstName: nil)
        return JSONWebToken.sign(
            AccessClaims(caller: caller, expiresAt: now - 60).json(issuedAt: now - 120), with: key)
    }

    // MARK: What there is

    /// Ids that are somebody's, all of one room.
    func ids(in room: String, of person: Person, and other: Person) async throws -> Ids {
        let message = try await calls.created("/api/rooms/\(room)/messages", #"{"text":"secret"}"#, as: person)
        let element = try await calls.created(
            "/api/rooms/\(room)/elements", #"{"type":"note","content":{"secret":1}}"#, as: person)
        return Ids(
            room: room, message: message, element: element, person: other.id, device: try await device(of: person),
            refreshToken: person.refreshToken)
    }

    private func device(of person: Person) async throws -> String {
        let token = Base16.encode(Array(person.id.utf8))
        let body = #"{"token":"\#(token)","platform":"ios","environment":"production"}"#
        let answer = try await calls.http("POST", "/api/devices", token: person.token, body: body)
        try #require(answer.status < 300)
        return token
    }
}

/// What a call names.
struct Ids: Sendable {
    var room: String
    var message: String
    var element: String
    var person: String
    var device: String
    var refreshToken: String
    /// Of the list of sessions.
    var session = "00000000-0000-7000-8000-000000000005"

    /// Such as there never were.
    static let missing = Ids(
        room: "00000000-0000-7000-8000-000000000001", message: "00000000-0000-7000-8000-000000000002",
        element: "00000000-0000-7000-8000-000000000003", person: "00000000-0000-7000-8000-000000000004",
        device: String(repeating: "0a", count: 32), refreshToken: "none")

    /// As they stand in JSON; no database need take them.
    static let nul = Ids(
        room: "\\u0000", message: "\\u0000", element: "\\u0000", person: "\\u0000", device: "%00",
        refreshToken: "\\u0000")

    /// These, but the things in the room another's.
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
