import GatewayTesting
import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorTestSupport
import Synchronization
import Testing

@Suite("Checks before clients' requests", .timeLimit(.minutes(1)))
struct RequestCheckTests {
    private static let denial = ServiceError(
        ErrorCode(ownName: "rude_words", status: 422) ?? .forbidden, "That is not said here.")

    /// Starts a service that checks requests. It answers as the test says.
    private func start(
        _ name: String = "guard", on harness: GatewayHarness, before requests: [String] = ["chat.send"],
        whenAway: RequestCheck.WhenAway = .allow, deadline: Duration = .seconds(2)
    ) throws -> FakeService {
        var manifest = Manifest(service: name)
        manifest.checks = requests.map {
            RequestCheck(before: $0, "\(name).check", whenAway: whenAway, deadline: deadline)
        }
        return try FakeService.start(manifest, on: harness.bus)
    }

    @Test("a check gets the request's data and caller; it denies with its own error, or the service gets the request")
    func event() async throws {
        try await GatewayHarness.run { harness in
            let guardian = try start(on: harness)
            guardian.on("guard.check") { request in
                #expect(request.data.text == #"{"roomId":"r","text":"pox"}"#)
                #expect(request.context.caller.flatMap(Caller.init) == GatewayHarness.ada)
                #expect(request.context.key == "r" && request.context.timeout <= .seconds(2))
                request.reply(Self.denial.json)
            }
            let client = try await harness.connect()
            // The service fails the test if it gets this.
            #expect(
                try await client.ask("chat:send", #"{"roomId":"r","text":"pox"}"#)["error"]?.text
                    == #"{"code":"rude_words","message":"That is not said here.","retryable":false}"#)
            guardian.on("guard.check", reply: Reply(.noContent))
            harness.chat.on("chat.send", reply: Reply())
            #expect(try await client.ask("chat:send", #"{"roomId":"r","text":"fox"}"#)["success"]?.bool == true)
            // A request without a check.
            harness.chat.on("chat.read", reply: Reply())
            guardian.on("guard.check") { _ in Issue.record("this has no check") }
            #expect(try await client.ask("chat:read", #"{"roomId":"r"}"#)["success"]?.bool == true)

            let lines = Set(try await harness.request("GET", "/metrics", as: nil).body.split(separator: "\n"))
            for (outcome, count) in [("allowed", 1), ("denied", 1), ("unanswered", 0)] {
                #expect(lines.contains("parlor_checks_total{outcome=\"\(outcome)\"} \(count)"), "\(outcome)")
            }
        }
    }

    @Test("a route is checked like an event, with the members of body and path")
    func route() async throws {
        try await GatewayHarness.run { harness in
            let guardian = try start(on: harness, before: ["rooms.rename"])
            guardian.on("guard.check") { request in
                #expect(request.data["roomId"]?.string == "r" && request.data["name"]?.string == "pox")
                #expect(request.context.requestID == "mine-1")
                request.reply(Self.denial.json)
            }
            let answer = try await harness.request(
                "PUT", "/api/rooms/r/name", body: #"{"name":"pox"}"#, headers: ["X-Request-Id: mine-1"])
            #expect(answer.status == 422)
            #expect(try answer.errorCode == "rude_words")
            guardian.on("guard.check", reply: Reply())
            harness.serveRoom()
            harness.rooms.on("rooms.rename", reply: Reply(.ok, GatewayHarness.base("r")))
            #expect(try await harness.request("PUT", "/api/rooms/r/name", body: #"{"name":"x"}"#).status == 200)
        }
    }

    @Test("a join is checked before the room is asked for")
    func join() async throws {
        try await GatewayHarness.run { harness in
            let guardian = try start(on: harness, before: ["room:join"])
            guardian.on("guard.check") { request in
                #expect(request.data.text == #"{"roomId":"r"}"# && request.context.key == "r")
                request.reply(Self.denial.json)
            }
            let client = try await harness.connect()
            #expect(
                try await client.ask("room:join", #"{"roomId":"r"}"#)["error"]?["code"]?.string == "rude_words")
            guardian.on("guard.check", reply: Reply())
            harness.serveRoom()
            try await client.emit("room:join", #"{"roomId":"r"}"#, ack: 7)
            while true {
                guard case .ack(7, let answer) = try await client.next() else { continue }
                #expect(answer["success"]?.bool == true)
                break
            }
        }
    }

    /// Runs a test whose checks wait for it: no deadline ends meanwhile.
    private func runWithoutDeadlines(loops: Int = 2, _ test: (GatewayHarness) async throws -> Void) async throws {
        let bus = FakeBus()
        bus.setDeadlines(to: .seconds(60))
        try await GatewayHarness.run(loops: loops, bus: bus, test)
    }

    @Test("a slow check holds the later events of its socket in its room, and no others")
    func order() async throws {
        try await runWithoutDeadlines(loops: 1) { harness in
            let guardian = try start(on: harness)
            let asked = guardian.hold("guard.check")
            let arrived = Arrivals<String>()
            for subject in ["chat.send", "chat.read"] {
                harness.chat.on(subject) { request in
                    arrived.add("\(request.data["n"]?.int ?? 0)")
                    request.reply(Reply().json)
                }
            }
            let (ada, bob) = (try await harness.connect(), try await harness.connect(GatewayHarness.bob))
            try await ada.emit("chat:send", #"{"roomId":"r","n":1}"#, ack: 1)
            try await ada.emit("chat:send", #"{"roomId":"r","n":2}"#, ack: 2)
            try await ada.emit("chat:read", #"{"roomId":"r","n":3}"#, ack: 3)
            try await ada.emit("chat:read", #"{"roomId":"other","n":4}"#, ack: 4)
            try await ada.emit("chat:read", #"{"n":5}"#, ack: 5)
            #expect(try await arrived.next(2) == ["4", "5"])
            try await bob.emit("chat:read", #"{"roomId":"r","n":6}"#, ack: 6)
            #expect(try await arrived.next(1) == ["6"])
            // Both checks are in progress at once, and the second one ends first.
            let checks = try await asked.next(2)
            #expect(checks.map { $0.data["n"]?.int } == [1, 2])
            checks[1].reply(Reply().json)
            try await bob.emit("chat:read", #"{"roomId":"r","n":7}"#, ack: 7)
            #expect(try await arrived.next(1) == ["7"])
            checks[0].reply(Self.denial.json)
            #expect(try await arrived.next(2) == ["2", "3"])
            var acks: [Int: Bool] = [:]
            while acks.count < 5 {
                guard case .ack(let id, let answer) = try await ada.next() else { continue }
                acks[id] = answer["success"]?.bool
            }
            #expect(acks == [1: false, 2: true, 3: true, 4: true, 5: true])
        }
    }

    @Test("a check that is late again and again is not waited for, until it answers in time")
    func lateRepeatedly() async throws {
        try await GatewayHarness.run { harness in
            let asked = Mutex(0)
            let guardian = try start(on: harness, deadline: .milliseconds(10))
            guardian.on("guard.check") { _ in asked.withLock { $0 += 1 } }
            harness.chat.on("chat.send", reply: Reply())
            let client = try await harness.connect()
            var sent = 0
            while asked.withLock(\.self) == sent {
                sent += 1
                #expect(try await client.ask("chat:send", #"{"roomId":"r"}"#)["success"]?.bool == true)
            }
            #expect(sent > 3)
            try await untilAsked(guardian, by: client)
        }
    }

    /// Sends messages until the check, which was late, is asked again.
    private func untilAsked(_ guardian: FakeService, by client: SocketIOTestClient) async throws {
        guardian.on("guard.check") { $0.reply(Self.denial.json) }
        var answer: JSONValue?
        while answer?["error"]?["code"]?.string != "rude_words" {
            answer = try await client.ask("chat:send", #"{"roomId":"r"}"#)
        }
    }

    /// The ways in which a check has no valid answer.
    private static let faults: [(reason: String, fault: @Sendable (FakeService) -> Void)] = [
        ("no_responders", { $0.takeDown() }),
        ("deadline_exceeded", { _ = $0.hold("guard.check") }),
        ("malformed", { service in service.on("guard.check") { $0.reply(JSONValue(5)) } }),
        ("internal_error", { $0.on("guard.check", error: ServiceError(.internal, "Oh.")) }),
        ("service_unavailable", { $0.on("guard.check", error: .unavailable("It")) }),
    ]

    @Test("without an answer, the check's declaration decides, and one line is logged", arguments: faults.indices)
    func away(_ index: Int) async throws {
        let (reason, fault) = Self.faults[index]
        for whenAway in [RequestCheck.WhenAway.allow, .deny] {
            try await GatewayHarness.run { harness in
                let deadline: Duration = reason == "deadline_exceeded" ? .milliseconds(10) : .seconds(60)
                let guardian = try start(on: harness, whenAway: whenAway, deadline: deadline)
                fault(guardian)
                if whenAway == .allow { harness.chat.on("chat.send", reply: Reply()) }
                let client = try await harness.connect()
                for _ in 0..<3 {
                    let answer = try await client.ask("chat:send", #"{"roomId":"r"}"#)
                    #expect(answer["success"]?.bool == (whenAway == .allow))
                    guard whenAway == .deny else { continue }
                    #expect(answer["error"]?["code"]?.string == "service_unavailable")
                    #expect(answer["error"]?["retryable"]?.bool == true)
                }
                let lines = harness.log.text.split(separator: "\n").filter { $0.contains("a check is not answered") }
                #expect(lines.count == 1 && lines.first?.contains(reason) == true, "\(lines)")
                guardian.stop()
            }
        }
    }

    @Test("an error with a code that nobody knows denies, also where a check that is down allows")
    func unknownCode() async throws {
        try await GatewayHarness.run { harness in
            let guardian = try start(on: harness, whenAway: .allow)
            let error = try JSONValue(parsing: #"{"error":{"code":"no_cheating","message":"Not so."}}"#)
            guardian.on("guard.check") { $0.reply(error) }
            let client = try await harness.connect()
            #expect(
                try await client.ask("chat:send", #"{"roomId":"r"}"#)["error"]?.text
                    == #"{"code":"forbidden","message":"Not so.","retryable":false}"#)
            let line = try #require(harness.log.lines.first { $0.contains("a check denies with an error") })
            #expect(line.contains("code no_cheating, status none") && line.contains("guard.check"))
        }
    }

    @Test("a leave does not overtake an event that waits for its check")
    func leave() async throws {
        try await GatewayHarness.run(loops: 1) { harness in
            let guardian = try start(on: harness)
            let asked = guardian.hold("guard.check")
            harness.serveRoom()
            harness.chat.on("chat.send", reply: Reply())
            let client = try await harness.connect()
            try await client.emit("chat:send", #"{"roomId":"r"}"#, ack: 1)
            try await client.emit("room:leave", #"{"roomId":"r"}"#, ack: 2)
            let check = try await asked.next()
            check.reply(Reply().json)
            var answered: [Int] = []
            while answered.count < 2 {
                if case .ack(let id, _) = try await client.next() { answered.append(id) }
            }
            #expect(answered == [1, 2])
        }
    }

    @Test("any of several checks denies; the error shown is that of the first service by name, before one that is down")
    func several() async throws {
        try await runWithoutDeadlines { harness in
            let away = try start("alarm", on: harness, whenAway: .deny)
            let (first, last) = (try start(on: harness), try start("wall", on: harness))
            away.takeDown()
            let asked = (first.hold("guard.check"), last.hold("wall.check"))
            let client = try await harness.connect()
            try await client.emit("chat:send", #"{"roomId":"r"}"#, ack: 1)
            // Both are asked at once, and the last one answers first.
            let (one, two) = (try await asked.0.next(), try await asked.1.next())
            two.reply(ServiceError(.forbidden, "No.").json)
            one.reply(Self.denial.json)
            let received = try await client.next()
            guard case .ack(1, let answer) = received else {
                Issue.record("\(received)")
                return
            }
            #expect(answer["error"]?["code"]?.string == "rude_words")

            first.on("guard.check", reply: Reply())
            last.on("wall.check", error: ServiceError(.forbidden, "No."))
            let denied = try await client.ask("chat:send", #"{"roomId":"r"}"#)
            #expect(denied["error"]?["code"]?.string == "forbidden")
            last.on("wall.check", reply: Reply())
            let unanswered = try await client.ask("chat:send", #"{"roomId":"r"}"#)
            #expect(unanswered["error"]?["code"]?.string == "service_unavailable")
        }
    }

    @Test("a request whose time ends with its check is not forwarded")
    func noTimeLeft() async throws {
        try await GatewayHarness.run(["--request-timeout", "100ms"]) { harness in
            let guardian = try start(on: harness)
            _ = guardian.hold("guard.check")
            let client = try await harness.connect()
            let answer = try await client.ask("chat:send", #"{"roomId":"r"}"#)
            #expect(answer["error"]?["code"]?.string == "service_unavailable")
        }
    }

    @Test("checks that are all late leave nothing behind: each event is answered in its turn, and new ones pass")
    func manyLate() async throws {
        try await GatewayHarness.run(["--rate-limits", "off"], loops: 1) { harness in
            let guardian = try start(on: harness, deadline: .milliseconds(10))
            _ = guardian.hold("guard.check")
            harness.chat.on("chat.send", reply: Reply())
            let client = try await harness.connect()
            for id in 0..<1_000 { try await client.emit("chat:send", #"{"roomId":"r"}"#, ack: id) }
            for expected in 0..<1_000 {
                guard case .ack(expected, let answer) = try await client.next() else {
                    Issue.record("\(expected) was not answered in its turn")
                    return
                }
                #expect(answer["success"]?.bool == true)
            }
            try await untilAsked(guardian, by: client)
        }
    }

    @Test("a check that the operator lists denies its requests until its service is there")
    func listed() async throws {
        try await GatewayHarness.run(["--checks", "guard:chat.send,guard:rooms.rename,guard:room:join"]) { harness in
            let client = try await harness.connect()
            let denied = try await client.ask("chat:send", #"{"roomId":"r","text":"fox"}"#)
            #expect(denied["error"]?["code"]?.string == "service_unavailable")
            #expect(denied["error"]?["retryable"]?.bool == true)
            #expect(
                try await client.ask("room:join", #"{"roomId":"r"}"#)["error"]?["code"]?.string
                    == "service_unavailable")
            let renaming = try await harness.request("PUT", "/api/rooms/r/name", body: #"{"name":"x"}"#)
            #expect(renaming.status == 503)
            #expect(harness.log.text.contains("not_announced"))

            let guardian = try start(on: harness, before: ["chat.send"])
            guardian.on("guard.check", reply: Reply(.noContent))
            harness.chat.on("chat.send", reply: Reply())
            #expect(try await client.ask("chat:send", #"{"roomId":"r","text":"fox"}"#)["success"]?.bool == true)
            // It declares `allow`, but the operator listed it.
            guardian.takeDown()
            let away = try await client.ask("chat:send", #"{"roomId":"r","text":"fox"}"#)
            #expect(away["error"]?["code"]?.string == "service_unavailable")
        }
    }

    @Test("with a list of checks, one that it lacks is not asked, and the reason is logged")
    func unlisted() async throws {
        try await GatewayHarness.run(["--checks", "none"]) { harness in
            let guardian = try start(on: harness, whenAway: .deny)
            guardian.on("guard.check") { _ in Issue.record("this is not listed") }
            harness.chat.on("chat.send", reply: Reply())
            let client = try await harness.connect()
            #expect(try await client.ask("chat:send", #"{"roomId":"r","text":"fox"}"#)["success"]?.bool == true)
            #expect(harness.log.text.contains("a check has no effect: CHECKS does not list it"))
        }
    }

    @Test("a check on a request with passwords has no effect, and the reason is logged")
    func confidential() async throws {
        try await GatewayHarness.run { harness in
            _ = try start(on: harness, before: ["rooms.open"])
            harness.rooms.on("rooms.open", reply: Reply())
            #expect(try await harness.request("POST", "/api/open", as: nil, body: "{}").status == 200)
            #expect(harness.log.text.contains("a check has no effect"))
            #expect(harness.log.text.contains("rooms.open"))
        }
    }
}
