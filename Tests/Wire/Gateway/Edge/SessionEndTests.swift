import GatewayTesting
import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import ParlorTestSupport
import Testing

@testable import ParlorGatewayEdge

@Suite("The end of a session at the gateway", .timeLimit(.minutes(1)))
struct SessionEndTests {
    private static let manifest = Manifest(
        service: "accounts",
        routes: [
            Route("GET", "/api/plain", "accounts.plain"),
            Route("POST", "/api/described", "accounts.described", wantsClient: true),
            Route("POST", "/api/open-described", "accounts.described", needsLogin: false, wantsClient: true),
        ],
        logsEndedSessions: true)

    /// Runs a test with a gateway that learns from `accounts` which sessions ended.
    private func run(
        _ settings: [String] = [], bus: any MessageBus = InProcessBus(),
        _ test: (GatewayHarness, FakeService) async throws -> Void
    ) async throws {
        try await GatewayHarness.run(settings, bus: bus) { harness in
            let accounts = try FakeService.start(Self.manifest, on: bus)
            accounts.on("accounts.plain", reply: Reply())
            defer { accounts.stop() }
            try await test(harness, accounts)
        }
    }

    private func ending(_ ids: String...) -> Fact {
        .sessionsEnded(SessionsEnded(sessionIDs: ids, tokensUntil: Timestamp(milliseconds: .max)))
    }

    private func status(_ harness: GatewayHarness, _ session: String?) async throws -> Int {
        try await harness.request("GET", "/api/plain", session: session).status
    }

    /// Repeats a request until it has the expected status, without sleeping.
    private func until(_ status: Int, of session: String, _ harness: GatewayHarness) async throws {
        while try await self.status(harness, session) != status {}
    }

    @Test("its tokens are refused and its sockets disconnected, and no other session's")
    func end() async throws {
        try await run { harness, accounts in
            try await until(200, of: "s1", harness)
            let ended = [try await harness.connect(session: "s1"), try await harness.connect(session: "s1")]
            let other = try await harness.connect(session: "s2")
            let old = try await harness.connect()
            accounts.emit([], fact: ending("s1"), participants: [])
            for socket in ended {
                #expect(try await socket.receive() == "41")
                #expect(try await socket.receive() == "closed")
            }
            #expect(try await status(harness, "s1") == 401)
            #expect(try await status(harness, "s2") == 200)
            #expect(try await status(harness, nil) == 200)
            let again = try await harness.openSocket()
            try await again.send("40{\"token\":\"\(harness.token(session: "s1"))\"}")
            #expect(try await again.receive().contains("unauthenticated"))
            for socket in [other, old] {
                #expect(try await socket.ask("chat:unknown", "{}")["success"]?.bool == false)
            }
            #expect(
                try await harness.request("GET", "/metrics").body.contains("parlor_session_closes_total 2"))
        }
    }

    @Test("an event that waits for its check is not forwarded once its session has ended")
    func heldEvent() async throws {
        try await run { harness, accounts in
            try await until(200, of: "s1", harness)
            var manifest = Manifest(service: "guard")
            manifest.checks = [RequestCheck(before: "chat.send", "guard.check", whenAway: .deny, deadline: .seconds(2))]
            let guardian = try FakeService.start(manifest, on: harness.bus)
            defer { guardian.stop() }
            let asked = guardian.hold("guard.check")
            // The service fails the test if it gets this.
            let socket = try await harness.connect(session: "s1")
            try await socket.emit("chat:send", #"{"roomId":"r"}"#, ack: 1)
            let check = try await asked.next()
            accounts.emit([], fact: ending("s1"), participants: [])
            #expect(try await socket.receive() == "41")
            #expect(try await socket.receive() == "closed")
            check.reply(Reply().json)
            // Requests of one loop are answered in order, so the event was handled.
            #expect(try await status(harness, "s2") == 200)
        }
    }

    @Test("a gateway learns which sessions ended before it started, and accepts no session's token until then")
    func start() async throws {
        let bus = InProcessBus()
        try await GatewayHarness.run(bus: bus) { harness in
            // Nobody has said yet which sessions ended.
            let early = try await harness.request("GET", "/api/chat", session: "s1")
            #expect(early.status == 503)
            #expect(early.header("retry-after") != nil)
            let socket = try await harness.openSocket()
            try await socket.send("40{\"token\":\"\(harness.token(session: "s1"))\"}")
            #expect(try await socket.receive() == "closed")

            let accounts = FakeService.down(Self.manifest, on: bus)
            defer { accounts.stop() }
            for n in 0..<3 { _ = accounts.commit([], fact: ending("s\(n)"), participants: []) }
            accounts.on("accounts.plain", reply: Reply())
            try accounts.bringUp()
            try await until(200, of: "s3", harness)
            for n in 0..<3 { #expect(try await status(harness, "s\(n)") == 401) }
        }
    }

    @Test("malformed entries do not hide sessions that ended after them")
    func malformed() async throws {
        let bus = InProcessBus()
        try await GatewayHarness.run(bus: bus) { harness in
            let accounts = FakeService.down(Self.manifest, on: bus)
            defer { accounts.stop() }
            _ = accounts.commit([], participants: [])
            let last = accounts.commit([], fact: ending("s1"), participants: [])
            accounts.on(Subject.logPage(of: "accounts")) { [head = accounts.head] request in
                let isFirst = request.data["since"]?.int == 0
                let page = LogPage(
                    head: head, oldest: 1, isKnown: true, entries: isFirst ? [] : [last], through: isFirst ? 1 : 2
                ).json.text.replacing(#""entries":[]"#, with: #""entries":[{}]"#)
                request.reply(Reply(.ok, JSONValue(trusted: Array(page.utf8))).json)
            }
            accounts.on("accounts.plain", reply: Reply())
            try accounts.bringUp()
            try await until(200, of: "s2", harness)
            #expect(try await status(harness, "s1") == 401)
        }
    }

    @Test("a service that replaces a forgotten one is followed in its stead")
    func successor() async throws {
        try await TestLoop.run { test in
            let bus = InProcessBus()
            let ended = EndedSessions()
            let arrivals = Arrivals<[String]>()
            let sessions = SessionLog(ended, bus: bus, on: test.loop, clock: SystemClock(), log: .silent) {
                arrivals.add($0)
            }
            defer { sessions.stop() }
            sessions.learn(Self.manifest)
            let manifest = Manifest(service: "people", hasEventLog: true, logsEndedSessions: true)
            let people = try FakeService.start(manifest, on: bus)
            defer { people.stop() }
            sessions.learn(manifest)
            sessions.forget("accounts")
            sessions.learn(manifest)
            await sessions.settle(within: .seconds(30))
            #expect(ended.isKnown)
            _ = people.emit([], fact: ending("s1"), participants: [])
            #expect(try await arrivals.next() == ["s1"])
        }
    }

    @Test("an ended session that the bus lost is found, without another after it")
    func lost() async throws {
        let bus = FakeBus()
        try await run(bus: bus) { harness, accounts in
            try await until(200, of: "s1", harness)
            let socket = try await harness.connect(session: "s1")
            bus.lose { $0.subject == "accounts.log" || $0.subject == Subject.announce(of: "accounts") }
            accounts.emit([], fact: ending("s1"), participants: [])
            #expect(try await socket.receive() == "41")
            #expect(try await status(harness, "s1") == 401)
        }
    }

    @Test("entries of the accounts log are no room events, and no part of a cursor")
    func noLog() async throws {
        try await run { harness, accounts in
            try await until(200, of: "s1", harness)
            accounts.emit([], fact: ending("s1"), participants: ["ada"])
            try await until(401, of: "s1", harness)
            let socket = try await harness.connect(session: "s2")
            #expect(try await socket.ask("chat:unknown", "{}")["success"]?.bool == false)
        }
    }

    @Test("routes that ask for it get the client's description, whatever the body says; others do not")
    func description() async throws {
        try await run { harness, accounts in
            try await until(200, of: "s1", harness)
            let asked = accounts.hold("accounts.described")
            func described(_ path: String, as caller: Caller?, headers: [String]) async throws -> ClientInfo? {
                async let answer = harness.request(
                    "POST", path, as: caller, session: "s1",
                    body: #"{"client":{"address":"1.1.1.1","userAgent":"","isLimited":false},"x":1}"#,
                    headers: headers)
                let request = try await asked.next()
                #expect(request.data["x"]?.int == 1)
                request.reply(Reply().json)
                #expect(try await answer.status == 200)
                return request.data["client"].flatMap(ClientInfo.init)
            }
            #expect(
                try await described("/api/described", as: GatewayHarness.ada, headers: ["User-Agent: Rooms/7"])
                    == ClientInfo(address: "127.0.0.1", userAgent: "Rooms/7", sessionID: "s1", isLimited: true))
            let long = "User-Agent: " + String(repeating: "x", count: 1000)
            let open = try await described("/api/open-described", as: nil, headers: [long])
            #expect(open?.userAgent.utf8.count == ClientInfo.maxUserAgent)
            #expect(open?.sessionID == nil)
            accounts.on("accounts.plain") { request in
                #expect(request.data["client"] == nil)
                request.reply(Reply().json)
            }
            #expect(try await status(harness, "s1") == 200)
        }
    }

    @Test("a person with too many sockets loses the oldest, with a reason, and it does not reconnect by itself")
    func socketsOfPerson() async throws {
        try await GatewayHarness.run(["--max-sockets-per-person", "3"]) { harness in
            let bob = try await harness.connect(GatewayHarness.bob)
            var sockets: [SocketIOTestClient] = []
            for _ in 0..<3 { sockets.append(try await harness.connect()) }
            let fourth = try await harness.connect()
            let reason = try await sockets[0].receive()
            #expect(reason.hasPrefix(#"42["request:error",{"event":"connect","error":{"code":"rate_limited""#))
            #expect(try await sockets[0].receive() == "41")
            #expect(try await sockets[0].receive() == "closed")
            // One that left makes room; that it has left is known when what it sends next is answered.
            try await sockets[1].send("41")
            try await sockets[1].send("40{}")
            #expect(try await sockets[1].receive().hasPrefix("44"))
            let fifth = try await harness.connect()
            for socket in [bob, sockets[2], fourth, fifth] {
                #expect(try await socket.ask("chat:unknown", "{}")["success"]?.bool == false)
            }
            let metrics = try await harness.request("GET", "/metrics").body
            #expect(metrics.contains(#"parlor_refused_total{what="socket",limit="person"} 1"#))
        }
    }

    @Test("without rate limits a person may have any number of sockets")
    func unlimited() async throws {
        try await GatewayHarness.run(["--max-sockets-per-person", "1", "--rate-limits", "off"]) { harness in
            let sockets = [try await harness.connect(), try await harness.connect()]
            for socket in sockets {
                #expect(try await socket.ask("chat:unknown", "{}")["success"]?.bool == false)
            }
        }
    }

    @Test("answers have no-store and nosniff headers")
    func headers() async throws {
        try await run { harness, _ in
            for (target, caller) in [("/api/plain", GatewayHarness.ada), ("/api/plain", nil), ("/healthz", nil)] {
                let answer = try await harness.request("GET", target, as: caller)
                #expect(answer.header("cache-control") == "no-store")
                #expect(answer.header("x-content-type-options") == "nosniff")
            }
            let polling = "/socket.io/?EIO=4&transport=polling"
            for target in [polling, "\(polling)&sid=unknown"] {
                #expect(try await harness.request("GET", target).header("x-content-type-options") == "nosniff")
            }
        }
    }
}
