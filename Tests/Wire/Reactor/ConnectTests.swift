import Glibc
import Testing

@testable import ParlorReactor

@Suite(.timeLimit(.minutes(1)))
struct ConnectTests {
    @Test("a connection is made by address and by name", arguments: ["127.0.0.1", "localhost"])
    func connect(host: String) async throws {
        try await withLoops(2) { group in
            let events = Events(of: ChannelEvent.self)
            let listener = try TCPListener.bind(host: "127.0.0.1", port: 0, on: group) { _ in Echo() }
            let loop = group.loops[1]
            let channel = try await loop.connect(host: host, port: listener.port) { _ in Recorder(events.source) }
            #expect(channel.loop === loop)
            await on(loop) { channel.write(Array("hello".utf8)) }
            #expect(await events.next() == .drained)
            #expect(await events.next() == .received(Array("hello".utf8)))
        }
    }

    @Test("a connection to a closed port fails at once")
    func refused() async throws {
        try await withLoops { group in
            let taken = try Socket(family: AF_INET)
            defer { taken.close() }
            try taken.bind(to: try loopback())
            let port = try taken.localAddress().port
            await #expect(throws: ConnectError.failed(SystemError("socket", code: ECONNREFUSED))) {
                try await group.loops[0].connect(host: "127.0.0.1", port: port) { _ in Echo() }
            }
        }
    }

    @Test("an invalid name is a failure")
    func unknownHost() async throws {
        try await withLoops { group in
            do throws(ConnectError) {
                try await group.loops[0].connect(host: "a\0b", port: 1) { _ in Echo() }
                Issue.record("connected")
            } catch {
                guard case .unknownHost("a\0b", _) = error else {
                    Issue.record("\(error)")
                    return
                }
            }
        }
    }

    @Test("a server that does not answer causes a time-out")
    func timeout() async throws {
        try await withLoops { group in
            try await withSilentPort { port in
                await #expect(throws: ConnectError.timedOut) {
                    try await group.loops[0].connect(host: "127.0.0.1", port: port, timeout: .milliseconds(20)) { _ in
                        Echo()
                    }
                }
            }
        }
    }

    @Test("cancelling ends an attempt")
    func cancel() async throws {
        try await withLoops { group in
            try await withSilentPort { port in
                let attempt = Task {
                    try await group.loops[0].connect(host: "127.0.0.1", port: port, timeout: .seconds(60)) { _ in Echo()
                    }
                }
                attempt.cancel()
                await #expect(throws: ConnectError.cancelled) { try await attempt.value }
            }
        }
    }

    @Test("shutting the group down ends an attempt, and later ones fail at once")
    func shutdown() async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let loop = group.loops[0]
        try await withSilentPort { port in
            async let outcome = connectOutcome(loop, port: port)
            await on(loop) {}
            group.shutdown()
            #expect(await outcome == .loopStopped)
            #expect(await connectOutcome(loop, port: port) == .loopStopped)
        }
    }

    @Test("shutting the group down ends an attempt that waits for a name")
    func shutdownDuringLookup() async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let loop = group.loops[0]
        let gate = Gate()
        // Both threads for lookups are busy.
        let busy = Events(of: Bool.self)
        for _ in 0..<2 {
            Task {
                try await loop.resolver.run {
                    busy.source.yield(true)
                    gate.wait()
                }
            }
        }
        for _ in 0..<2 { #expect(await busy.next() == true) }
        async let outcome = connectOutcome(loop, host: "localhost", port: 1)
        while await on(loop, { loop.poller.sources.isEmpty }) {}
        group.shutdown()
        #expect(await outcome == .loopStopped)
        gate.open()
        gate.open()
    }

    private func connectOutcome(_ loop: EventLoop, host: String = "127.0.0.1", port: UInt16) async -> ConnectError? {
        do throws(ConnectError) {
            try await loop.connect(host: host, port: port, timeout: .seconds(60)) { _ in Echo() }
            return nil
        } catch {
            return error
        }
    }

    private func loopback() throws -> SocketAddress {
        try #require(SocketAddress.resolve(host: "127.0.0.1", port: 0, literalOnly: true).first)
    }

    /// Runs a body with a port whose backlog is full: the kernel lets other attempts wait.
    private func withSilentPort(_ body: (UInt16) async throws -> Void) async throws {
        let listening = try Socket(family: AF_INET)
        defer { listening.close() }
        try listening.bind(to: try loopback())
        try listening.listen(backlog: 0)
        let address = try listening.localAddress()
        var waiting: [Socket] = []
        defer { for socket in waiting { socket.close() } }
        for _ in 0..<4 {
            let socket = try Socket(family: AF_INET)
            waiting.append(socket)
            _ = try socket.connect(to: address)
        }
        try await body(address.port)
    }
}
