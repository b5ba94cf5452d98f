import GatewayTesting
import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorSecurity
import ParlorServiceKit
import ParlorTestSupport
import ParlorWorkers
import Testing

@testable import ParlorDelivery
@testable import ParlorGateway

/// A gateway on a bus, with a rooms service and one called `chat` that answer as the test says.
struct GatewayHarness: Sendable {
    let bus: any MessageBus
    let rooms: FakeService
    let chat: FakeService
    let clock: ManualClock
    let log: CapturedLog
    let port: UInt16
    let gateway: Gateway
    private let folder: TemporaryFolder
    private let key: JSONWebKey
    private let cursors: SyncCursorCodec
    private let workers: WorkerPool

    static let ada = Caller(id: "ada", username: "ada.l", firstName: "Ada")
    static let bob = Caller(id: "bob", username: "bob", firstName: nil)

    private static let roomsManifest = Manifest(
        service: "rooms",
        routes: [
            Route("GET", "/api/rooms/my-rooms", "rooms.list", answer: .rooms),
            Route("GET", "/api/rooms/grouped-by-person", "rooms.by-person", answer: .roomsByPerson),
            Route("GET", "/api/rooms/:roomId", "rooms.get", answer: .room),
            Route("PUT", "/api/rooms/:roomId/name", "rooms.rename", answer: .room),
            Route("POST", "/api/open", "rooms.open", needsLogin: false, limits: ["logins", "sign_ins"]),
            Route("POST", "/api/change", "rooms.change", limits: ["logins"]),
            Route("DELETE", "/api/rooms/:roomId/things/:thing", "rooms.remove"),
        ],
        limits: [
            RateLimit("logins", .failures, perPerson: 1000, perAddress: 2, seconds: 3600),
            RateLimit("sign_ins", perPerson: 1000, perAddress: 1000, seconds: 3600),
        ])

    private static let chatManifest = Manifest(
        service: "chat", routes: [Route("GET", "/api/chat", "chat.list")],
        socketEvents: [
            SocketEvent("chat:send", "chat.send", ackName: "message", ackCopies: [("messageId", "id")]),
            SocketEvent("chat:read", "chat.read"),
            SocketEvent("chat:rare", "chat.rare", limits: ["rare"]),
        ],
        contribution: Contribution(
            subject: "chat.contribute",
            fields: [
                .init("messagesUpdatedAt", .time, zero: .null), .init("lastMessage", zero: .null),
                .init("badges.messages", zero: JSONValue(0)),
            ]),
        hasEventLog: true, presenceSubject: "chat.presence",
        limits: [RateLimit("rare", perPerson: 1, perAddress: 100, seconds: 3600)])

    private static func logging(_ manifest: Manifest) -> Manifest {
        var manifest = manifest
        manifest.hasEventLog = true
        manifest.logsWhatRoomsShow = true
        return manifest
    }

    /// Runs a test with a gateway, and stops it.
    ///
    /// - Parameters:
    ///   - settings: as flags.
    ///   - withChat: false if the service was never announced.
    ///   - logsAll: whether both services' logs cover everything that rooms show.
    static func run(
        _ settings: [String] = [], loops: Int = 2, withChat: Bool = true, logsAll: Bool = false,
        pacing: BroadcastPacing = BroadcastPacing(),
        bus: any MessageBus = FakeBus(),
        _ test: (GatewayHarness) async throws -> Void
    ) async throws {
        let rooms = try FakeService.start(logsAll ? logging(roomsManifest) : roomsManifest, on: bus)
        let chat = try FakeService.start(logsAll ? logging(chatManifest) : chatManifest, on: bus)
        if !withChat { chat.takeDown() }
        chat.on("chat.presence", reply: Reply())
        let folder = TemporaryFolder()
        let group = try EventLoopGroup(loopCount: loops)
        let clock = ManualClock()
        let log = CapturedLog()
        let configuration = try Configuration(
            GatewaySettings.all,
            arguments: [
                "--port", "0", "--data", folder.path, "--required-services", "rooms,chat", "--request-timeout", "60s",
            ] + settings)
        let node = Node(
            configuration: configuration, bus: bus, isBusShared: false, group: group, clock: clock, log: log.logger)
        // Tests announce changes right after a start.
        let gateway = try await Gateway.start(in: node, pacing: pacing, announcementPause: .zero)
        let port = try #require(gateway.address.flatMap { UInt16($0.split(separator: ":").last ?? "") })
        let workers = WorkerPool(threads: 8, maxWaiting: 64)
        let secret = try SecretFile.loadOrCreate(folder.file("jwt.secret"))
        let harness = GatewayHarness(
            bus: bus, rooms: rooms, chat: chat, clock: clock, log: log, port: port,
            gateway: gateway, folder: folder,
            key: .hs256(secret: secret), cursors: SyncCursorCodec(secret: secret), workers: workers)
        try await withCleanup {
            try await test(harness)
        } _: {
            await gateway.stop(within: .seconds(1))
            await workers.close()
            await finish(group)
            // Last: on its loops the gateway may still have sent them who left.
            for service in [rooms, chat] { service.stop() }
            // A test's own services answer on until it returns.
            let open = (bus as? FakeBus)?.openPatterns.filter { !$0.hasSuffix(".>") && $0 != Subject.discover }
            #expect(open ?? [] == [], "a stopped gateway still listens")
        }
    }

    // MARK: Clients

    func token(
        for caller: Caller = ada, session: String? = nil, lifetime: Duration = .seconds(3600)
    ) -> String {
        let now = clock.now()
        let claims = AccessClaims(
            caller: caller, sessionID: session, expiresAt: now.adding(lifetime).milliseconds / 1000)
        return JSONWebToken.sign(claims.json(issuedAt: now.milliseconds / 1000), with: key)
    }

    /// Asks the gateway as an operator to forget a service, and returns the outcome.
    func forget(_ service: String) async throws -> ForgettingReport.Outcome {
        let answers = Arrivals<ForgettingReport>()
        let subscription = try bus.subscribe(Subject.forgettingReports) { message in
            if let report = ForgettingReport(message.data) { answers.add(report) }
        }
        defer { subscription.cancel() }
        try bus.publish(Subject.forgetService, OperatorRequest(id: "q", service: service).json)
        return try await answers.next().outcome
    }

    /// Sends the gateway a change of a room's people, as Rooms does.
    ///
    /// - Returns: true if the gateway confirms it.
    func confirms(_ change: PeopleChange) async throws -> Bool {
        let heartbeats = Arrivals<String>()
        let subscription = try bus.subscribe(Subject.gatewayAlive) { message in
            if let id = message.data["gateway"]?.string { heartbeats.add(id) }
        }
        defer { subscription.cancel() }
        let fence = JSONWriter.object { $0.member("change", change.json) }
        let payload = try await bus.request(
            Subject.gatewayFence(of: try await heartbeats.next()), fence, BusContext(requestID: "test"))
        do throws(ServiceError) {
            _ = try Reply(payload)
            return true
        } catch {
            #expect(error.code == .serviceUnavailable)
            return false
        }
    }

    /// Waits until the gateway knows which changes of rooms' people are pending.
    func waitUntilCaughtUp() async throws {
        while try await !confirms(PeopleChange(roomID: "another", version: 2)) {}
    }

    /// Returns a cursor of Ada's at the heads of these logs, as another gateway with the same key would issue it.
    func cursor(at services: FakeService...) -> String {
        let heads = services.reduce(into: [LogID: LogPosition]()) { $0.merge($1.heads) { first, _ in first } }
        return cursors.encode(SyncCursor(heads), for: Self.ada.id)
    }

    func request(
        _ method: String, _ target: String, as caller: Caller? = ada, session: String? = nil, body: String = "",
        headers: [String] = []
    ) async throws -> RawResponse {
        let client = try ThreadedClient(port: port, workers)
        let authorization = caller.map { ["Authorization: Bearer \(token(for: $0, session: session))"] } ?? []
        return try await client.request(method, target, headers: authorization + headers, body: body)
    }

    /// Returns a WebSocket after the Engine.IO handshake.
    func openSocket(query: String = "", headers: [String] = []) async throws -> SocketIOTestClient {
        try await ThreadedClient(port: port, workers).openSocketIO(query: query, headers: headers)
    }

    /// Returns a client that is connected to the main namespace.
    func connect(
        _ caller: Caller = ada, session: String? = nil, lifetime: Duration = .seconds(3600)
    ) async throws -> SocketIOTestClient {
        let client = try await openSocket()
        try await client.connect(token: token(for: caller, session: session, lifetime: lifetime))
        return client
    }

    /// Returns a connected client that has joined the room `r`.
    func join(
        _ caller: Caller = ada, room: String = "r", recordVersion: Int = 1
    ) async throws -> SocketIOTestClient {
        serveRoom(version: recordVersion)
        let client = try await connect(caller)
        try await client.emit("room:join", "{\"roomId\":\"\(room)\"}", ack: 1)
        while true {
            // Its own presence may come first.
            guard case .ack(1, let answer) = try await client.next() else { continue }
            #expect(answer["success"]?.bool == true)
            return client
        }
    }

    // MARK: What services say

    /// Makes the rooms service know every room, with Ada and Bob in it.
    ///
    /// - Parameter version: that of its record.
    func serveRoom(version: Int = 1) {
        rooms.on("rooms.get") { request in
            request.reply(Reply(.ok, Self.base(request.data["roomId"]?.string ?? "", version: version)).json)
        }
        rooms.on("rooms.membership") { request in
            let participants = ["ada", "bob"].map {
                Participant(userID: $0, username: $0, firstName: nil, joinedAt: Timestamp(milliseconds: 0))
            }
            let room = Membership(roomID: request.data["roomId"]?.string ?? "", participants: participants)
            request.reply(Reply(.ok, room.json).json)
        }
        contribute(badge: 0)
    }

    /// Sets what `chat` adds to each room from now on.
    func contribute(badge: Int, messageAt: Int? = nil) {
        chat.on("chat.contribute") { request in
            let count = request.data["roomIds"]?.array?.count ?? 0
            let data = JSONWriter.object {
                $0.member(
                    "rooms",
                    array: { json in
                        for _ in 0..<count {
                            json.array { json in
                                if let messageAt { json.number(messageAt) } else { json.null() }
                                json.null()
                                json.number(badge)
                            }
                        }
                    })
            }
            request.reply(Reply(.ok, data).json)
        }
    }

    /// Returns a room as the rooms service writes it.
    static func base(_ id: String, name: String? = nil, version: Int = 1, updatedAt: Int = 5000) -> JSONValue {
        JSONWriter.object { json in
            json.member("id", id)
            json.member("version", version)
            json.member("name", name)
            json.member("displayName", "Ada & bob")
            json.member("createdBy", "ada")
            json.member("createdAt", 1000)
            json.member("updatedAt", updatedAt)
            json.member(
                "participants",
                array: { json in
                    for id in ["ada", "bob"] {
                        json.object {
                            $0.member("userId", id)
                            $0.member("username", id)
                            $0.member("firstName", JSONValue.null)
                            $0.member("joinedAt", 1000)
                        }
                    }
                })
        }
    }
}

extension RawResponse {
    var json: JSONValue { get throws { try JSONValue(parsing: body) } }
    var errorCode: String? { get throws { try json["error"]?["code"]?.string } }
}
