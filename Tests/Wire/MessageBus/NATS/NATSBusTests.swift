import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorTestSupport
import Testing

/// Properties beyond the conformance suite: servers that restart, and what they refuse.
@Suite("bus on NATS", .timeLimit(.minutes(1)))
struct NATSBusTests {
    private func connect(
        _ text: String, token: String? = nil, on group: EventLoopGroup,
        onWarning: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws -> any MessageBus {
        let url = try #require(BusURL(text))
        return try await url.connect(name: "t", token: token, on: group.next(), onWarning: onWarning)
    }

    @Test("clients reconnect to a server that returns on its port, with their subscriptions")
    func reconnect() async throws {
        let first = try await NATSServer.start()
        let group = try EventLoopGroup(loopCount: 1)
        let bus = try await connect(first.url(), on: group)
        let (states, events, kept) = (Arrivals<BusState>(), Arrivals<Int?>(), Arrivals<BusRequest>())
        bus.onStateChange { states.add($0) }
        try bus.subscribe("a.*") { events.add($0.data.int) }
        try bus.respond(to: "keep", queue: "q") { kept.add($0) }
        try bus.respond(to: "echo", queue: "q") { $0.reply($0.data) }
        let lost = Task { try await bus.request("keep", .null, .test()) }
        let inFlight = try await kept.next()
        await first.stop()
        await #expect(throws: BusError.disconnected) { try await lost.value }
        #expect(try await states.next() == .disconnected)
        await #expect(throws: BusError.disconnected) { try await bus.request("echo", .null, .test()) }
        try bus.publish("a.b", JSONValue(0))

        let second = try await NATSServer.start(port: first.port)
        #expect(try await states.next() == .connected)
        // No flush in between: the subscriptions were sent first.
        #expect(try await bus.request("echo", JSONValue(5), .test()).json.int == 5)
        try bus.publish("a.late", JSONValue(1))
        #expect(try await events.next() == 1)
        // A reply to a request over the previous server is dropped.
        inFlight.reply(JSONValue.null)
        try await bus.flush()
        await bus.close()
        await second.stop()
        await finish(group)
    }

    @Test("a read without a reply is sent once more, under its deadline; a write is not")
    func lostResponder() async throws {
        let server = try await NATSServer.shared.value
        let group = try EventLoopGroup(loopCount: 1)
        let bus = try await connect(server.url("/\(NATSServer.newPrefix())"), on: group)
        let received = Arrivals<BusRequest>()
        // Keeps the first request, as one that died would.
        try bus.respond(to: "count", queue: "q") { received.add($0) }
        try await bus.flush()
        let question = Task {
            try await bus.request(
                "count", JSONValue(1), BusContext(requestID: "r", timeout: .seconds(30), isRepeatable: true))
        }
        let first = try await received.next()
        let second = try await received.next()
        #expect(second.data == first.data && second.context.timeout < first.context.timeout)
        second.reply(JSONValue(2))
        #expect(try await question.value.json.int == 2)
        // Too late: there is nobody any more.
        first.reply(JSONValue(1))

        let change = Task {
            try await bus.request("count", JSONValue(3), BusContext(requestID: "r", timeout: .milliseconds(1500)))
        }
        #expect(try await received.next().data.int == 3)
        await #expect(throws: BusError.deadlineExceeded) { try await change.value }
        // The next that comes is the next that is asked.
        let last = Task { try await bus.request("count", JSONValue(4), .test()) }
        let next = try await received.next()
        #expect(next.data.int == 4)
        next.reply(JSONValue.null)
        _ = try await last.value
        await bus.close()
        await finish(group)
    }

    @Test("of several servers an available one is found, and another when that one goes")
    func severalServers() async throws {
        let (dead, second, third) = (
            try await NATSServer.start(), try await NATSServer.start(), try await NATSServer.start()
        )
        await dead.stop()
        let group = try EventLoopGroup(loopCount: 1)
        let warnings = Arrivals<String>()
        let bus = try await connect(
            "\(dead.url()),127.0.0.1:\(second.port),\(third.url("/parlor-a"))", on: group
        ) { warnings.add($0) }
        #expect(try await warnings.next().hasPrefix("no connection to the bus at 127.0.0.1:\(dead.port)"))
        let states = Arrivals<BusState>()
        bus.onStateChange { states.add($0) }
        await second.stop()
        #expect(try await states.next(2).last == .connected)
        try await bus.flush()
        await bus.close()
        await third.stop()
        await finish(group)
    }

    @Test("a wrong token or password is reported at the start")
    func unauthorized() async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let byToken = try await NATSServer.start(#"authorization { token: "sesame" }"#)
        for token in [nil, "wrong"] {
            await #expect(throws: BusError.refused("Authorization Violation")) {
                try await connect(byToken.url(), token: token, on: group)
            }
        }
        await (try connect(byToken.url(), token: "sesame", on: group)).close()
        await (try connect("nats://sesame@127.0.0.1:\(byToken.port)", on: group)).close()
        await byToken.stop()

        let byPassword = try await NATSServer.start(#"authorization { user: "parlor", password: "p:w" }"#)
        await #expect(throws: BusError.refused("Authorization Violation")) {
            try await connect("nats://parlor:wrong@127.0.0.1:\(byPassword.port)", on: group)
        }
        await (try connect("nats://parlor:p:w@127.0.0.1:\(byPassword.port)", on: group)).close()
        await (try connect("nats://parlor@127.0.0.1:\(byPassword.port)", token: "p:w", on: group)).close()
        await byPassword.stop()
        await finish(group)
    }

    @Test("a message over the server's own limit is refused locally, reported once, and the connection stays")
    func smallPayloads() async throws {
        let server = try await NATSServer.start("max_payload: 10000")
        let group = try EventLoopGroup(loopCount: 1)
        let warnings = Arrivals<String>()
        let bus = try await connect(server.url(), on: group) { warnings.add($0) }
        #expect(try await warnings.next().contains("10000 bytes"))
        let (fits, over) = (
            JSONValue(String(repeating: "x", count: 9000)), JSONValue(String(repeating: "x", count: 9999))
        )
        try bus.respond(to: "big", queue: "q") { $0.reply($0.data.isNull ? over : fits) }
        #expect(throws: BusError.lineTooLong) { try bus.publish("a", over) }
        await #expect(throws: BusError.lineTooLong) { try await bus.request("big", over, .test()) }
        await #expect(throws: BusError.lineTooLong) { try await bus.request("big", .null, .test()) }
        #expect(try await bus.request("big", fits, .test()).json == fits)
        await bus.close()
        await server.stop()
        await finish(group)
    }

    @Test("installations with different prefixes do not receive each other's messages")
    func prefixes() async throws {
        let server = try await NATSServer.shared.value
        let group = try EventLoopGroup(loopCount: 1)
        let (mine, theirs) = (NATSServer.newPrefix(), NATSServer.newPrefix())
        let one = try await connect(server.url("/\(mine)"), on: group)
        let other = try await connect(server.url("/\(theirs)"), on: group)
        let events = Arrivals<Int?>()
        try one.subscribe(">") { events.add($0.data.int) }
        try one.respond(to: "who", queue: "q") { $0.reply(JSONValue.null) }
        try await one.flush()
        try other.publish("a", JSONValue(1))
        await #expect(throws: BusError.noResponders) { try await other.request("who", .null, .test()) }
        try one.publish("a", JSONValue(2))
        #expect(try await events.next() == 2)
        await one.close()
        await other.close()
        await finish(group)
    }

    @Test("two groups that match a request carry it out once")
    func twoGroups() async throws {
        let server = try await NATSServer.shared.value
        let group = try EventLoopGroup(loopCount: 1)
        let bus = try await connect(server.url("/\(NATSServer.newPrefix())"), on: group)
        let served = Arrivals<String>()
        for (pattern, queue) in [("rooms.*", "a"), ("rooms.list", "b"), (">", "c")] {
            try bus.respond(to: pattern, queue: queue) {
                served.add($0.subject)
                $0.reply(JSONValue.null)
            }
        }
        for _ in 0..<10 { _ = try await bus.request("rooms.list", .null, .test()) }
        // Behind all that those could have caused.
        _ = try await bus.request("the.end", .null, .test())
        let expected = Array(repeating: "rooms.list", count: 10) + ["the.end"]
        #expect(try await served.next(11) == expected)
        await bus.close()
        await finish(group)
    }
}
