import ParlorBus
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorTestSupport
import Testing

/// Properties beyond the conformance suite: lost connections, and brokers that misbehave.
@Suite("bus over TCP", .timeLimit(.minutes(1)))
struct TCPBusTests {
    @Test("clients reconnect to a broker that returns on its port, with their subscriptions")
    func reconnect() async throws {
        let first = try await BusServer.start(host: "127.0.0.1", port: 0)
        let group = try EventLoopGroup(loopCount: 1)
        let bus = try await TCPBus.connect(
            host: "127.0.0.1", port: first.port, name: "t", token: nil, on: group.next())
        let states = Arrivals<BusState>()
        let events = Arrivals<Int?>()
        let kept = Arrivals<BusRequest>()
        bus.onStateChange { states.add($0) }
        try bus.subscribe("a.*") { events.add($0.data.int) }
        let cancelled = try bus.subscribe("a.*") { _ in Issue.record("cancelled, and called") }
        try bus.respond(to: "keep", queue: "q") { kept.add($0) }
        try bus.respond(to: "echo", queue: "q") { $0.reply($0.data) }
        try bus.publish("b", JSONValue.null)
        cancelled.cancel()
        let lost = Task { try await bus.request("keep", .null, .test()) }
        let inFlight = try await kept.next()
        await first.drain(timeout: .zero, grace: .milliseconds(10))

        await #expect(throws: BusError.disconnected) { try await lost.value }
        #expect(try await states.next() == .disconnected)
        #expect(!bus.isConnected)
        await #expect(throws: BusError.disconnected) { try await bus.request("echo", .null, .test()) }
        await #expect(throws: BusError.disconnected) { try await bus.flush() }
        try bus.publish("a.b", JSONValue(0))
        #expect(bus.counters.droppedEvents == 1)
        try bus.subscribe("a.late") { events.add(($0.data.int ?? 0) + 1000) }

        let second = try await BusServer.start(host: "127.0.0.1", port: first.port)
        #expect(try await states.next() == .connected)
        #expect(bus.isConnected)
        // No flush in between: the subscriptions were sent first.
        #expect(try await bus.request("echo", JSONValue(5), .test()).json.int == 5)
        try bus.publish("a.late", JSONValue(1))
        #expect(Set(try await events.next(2)) == [1, 1001])
        // A reply to a request of the previous broker is dropped.
        inFlight.reply(JSONValue.null)
        try await bus.flush()
        #expect(bus.counters.reconnections == 1)
        #expect(second.counters.malformed == 0)
        await bus.close()
        await second.drain()
        await finish(group)
    }

    @Test("a request made in the turn in which the connection is lost fails, and leaves no timer behind")
    func lostWhileAsking() async throws {
        let server = try await BusServer.start(host: "127.0.0.1", port: 0)
        let group = try EventLoopGroup(loopCount: 1)
        let loop = group.next()
        let bus = try await TCPBus.connect(host: "127.0.0.1", port: server.port, name: "t", token: nil, on: loop)
        let states = Arrivals<BusState>()
        bus.onStateChange { states.add($0) }
        // At every turn's end, so also at that of the turn that closes: it is noticed after this.
        @Sendable func keepAsking() {
            loop.atEndOfTurn {
                bus.request("nobody", .null, .test(timeout: .milliseconds(5))) { _ in }
                if bus.isConnected { loop.execute { keepAsking() } }
            }
        }
        loop.execute { keepAsking() }
        await server.drain(timeout: .zero, grace: .milliseconds(10))
        #expect(try await states.next() == .disconnected)
        // Later than those deadlines would have been looked for.
        await withCheckedContinuation { continuation in
            loop.execute { loop.schedule(after: .milliseconds(30)) { continuation.resume() } }
        }
        await bus.close()
        await finish(group)
    }

    @Test("connecting waits for the broker to be there, and logs once why it waits")
    func waits() async throws {
        let reserved = try ReservedPort()
        let port = reserved.port
        let group = try EventLoopGroup(loopCount: 1)
        let warnings = Arrivals<String>()
        async let connecting = TCPBus.connect(
            host: "127.0.0.1", port: port, name: "t", token: nil, on: group.next()
        ) { warnings.add($0) }
        #expect(try await warnings.next().hasPrefix("no connection to the bus at 127.0.0.1:\(port)"))
        let server = try await BusServer.start(host: "127.0.0.1", port: port)
        let bus = try await connecting
        #expect(bus.isConnected)
        await bus.close()
        await server.drain()
        await finish(group)
    }

    @Test("a task that is cancelled while it waits for the broker ends")
    func cancelled() async throws {
        let reserved = try ReservedPort()
        let group = try EventLoopGroup(loopCount: 1)
        let warnings = Arrivals<String>()
        let waiting = Task {
            _ = try await TCPBus.connect(
                host: "127.0.0.1", port: reserved.port, name: "t", token: nil, on: group.next()
            ) {
                warnings.add($0)
            }
        }
        _ = try await warnings.next()
        waiting.cancel()
        await #expect(throws: BusError.disconnected) { try await waiting.value }
        withExtendedLifetime(reserved) {}
        await finish(group)
    }

    @Test("invalid lines from the broker are counted and skipped")
    func nonsense() async throws {
        let script = [
            "nonsense", #"{"op":"msg","sub":1,"subject":"a","data":{"x":}"#, #"{"op":"msg","sub":1,"data":1}"#,
            #"{"op":"msg","sub":99,"subject":"a","data":1}"#, #"{"op":"res","id":77,"data":1}"#, #"{"op":"dance"}"#,
            #"{"op":"err","id":5}"#, #"{"op":"pong"}"#,
            #"{"op":"msg","sub":1,"reply":4,"subject":"a","data":nonsense}"#,
            #"{"op":"msg","sub":1,"subject":"a","data":7}"#,
        ]
        let group = try EventLoopGroup(loopCount: 1)
        let broker = try ScriptedBroker.listen(on: group, pingInterval: 15_000, after: #""op":"sub""#, script)
        let bus = try await TCPBus.connect(
            host: "127.0.0.1", port: broker.port, name: "t", token: nil, on: group.next())
        let events = Arrivals<Int?>()
        try bus.subscribe("a") { events.add($0.data.int) }
        #expect(try await events.next() == 7)
        #expect(bus.counters.malformedLines == 5)
        #expect(bus.isConnected)
        await bus.close()
        broker.close()
        await finish(group)
    }

    @Test("a line over the limit is counted, and ends the connection")
    func endless() async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let line = String(repeating: "x", count: BusLimits.maxLine + 1)
        let broker = try ScriptedBroker.listen(on: group, pingInterval: 15_000, after: #""op":"sub""#, [line])
        let warnings = Arrivals<String>()
        let bus = try await TCPBus.connect(
            host: "127.0.0.1", port: broker.port, name: "t", token: nil, on: group.next()
        ) {
            warnings.add($0)
        }
        try bus.subscribe("a") { _ in }
        #expect(try await warnings.next().contains("is not understood"))
        // It connects and subscribes again, and meets the line again.
        #expect(bus.counters.malformedLines >= 1)
        await bus.close()
        broker.close()
        await finish(group)
    }

    @Test("a request that the broker never answers ends at its deadline, also beside a longer one")
    func deadline() async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let (loop, channels) = (group.next(), Arrivals<Channel>())
        let broker = try ScriptedBroker.listen(
            on: group, pingInterval: 15_000, after: "never", [], channels: channels)
        let bus = try await TCPBus.connect(host: "127.0.0.1", port: broker.port, name: "t", token: nil, on: loop)
        bus.request("a", .null, .test(timeout: .seconds(3000))) { _ in }
        for _ in 1...2 {
            await #expect(throws: BusError.deadlineExceeded) {
                try await bus.request("a", .null, .test(timeout: .milliseconds(20)))
            }
        }
        broker.close()
        // Otherwise it would wait for the answer to the other.
        let channel = try await channels.next()
        loop.execute { channel.abort() }
        await bus.close()
        await finish(group)
    }

    @Test("a silent broker counts as dead")
    func silence() async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let broker = try ScriptedBroker.listen(on: group, pingInterval: 20, after: "never", [])
        let bus = try await TCPBus.connect(
            host: "127.0.0.1", port: broker.port, name: "t", token: nil, on: group.next())
        let states = Arrivals<BusState>()
        bus.onStateChange { states.add($0) }
        await #expect(throws: BusError.disconnected) { try await bus.request("a", .null, .test()) }
        // Whichever came first: it is lost again each time it was made.
        while try await states.next() != .disconnected {}
        broker.close()
        await bus.close()
        await finish(group)
    }

    @Test("a reply that does not fit becomes an error line, and the asker need not wait for the deadline")
    func replyWithoutRoom() async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let loop = group.next()
        let (channels, received, asked) = (Arrivals<Channel>(), Arrivals<String>(), Arrivals<BusRequest>())
        let broker = try ScriptedBroker.listen(
            on: group, pingInterval: 15_000, after: #""op":"serve""#,
            [#"{"op":"msg","sub":1,"reply":4,"subject":"a","timeout":60000,"data":1}"#], deaf: true, channels: channels,
            received: received)
        let bus = try await TCPBus.connect(
            host: "127.0.0.1", port: broker.port, name: "t", token: nil, on: loop, maxUnsentBytes: 100_000)
        try bus.respond(to: "a", queue: "q") { asked.add($0) }
        let request = try await asked.next()
        let channel = try await channels.next()
        // Full is what stays full when the loop has tried to send.
        let data = JSONValue(String(repeating: "x", count: 10_000))
        var refusals = 0
        while refusals < 20 {
            do throws(BusError) {
                try bus.publish("b", data)
                refusals = 0
            } catch {
                refusals += 1
            }
            await withCheckedContinuation { continuation in loop.execute { continuation.resume() } }
        }
        request.reply(JSONValue.null)
        #expect(bus.counters.refusedReplies == 1 && bus.counters.droppedReplies == 0)
        loop.execute { channel.resumeReading() }
        while try await received.next() != #"{"op":"res","id":4,"error":"slow_consumer"}"# {}
        await bus.close()
        broker.close()
        await finish(group)
    }

    @Test("a broker that does not read is waited for only up to the bound")
    func unreadBound() async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let broker = try ScriptedBroker.listen(on: group, pingInterval: 15_000, after: #""op":"hello""#, [], deaf: true)
        let bus = try await TCPBus.connect(
            host: "127.0.0.1", port: broker.port, name: "t", token: nil, on: group.next(), maxUnsentBytes: 100_000)
        let data = JSONValue(String(repeating: "x", count: 10_000))
        var failure: BusError?
        while failure == nil {
            do throws(BusError) { try bus.publish("a", data) } catch { failure = error }
            await Task.yield()
        }
        #expect(failure == .slowConsumer)
        await finish(group)
    }
}
