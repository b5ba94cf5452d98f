import Glibc
import ParlorTestSupport
import Synchronization
import Testing

@testable import ParlorReactor

@Suite(.timeLimit(.minutes(1)))
struct ClosingTests {
    @Test("close writes what is pending, then ends in order, and the handler is notified once")
    func close() async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let events = Events(of: ChannelEvent.self)
            let (channel, client) = try await connected(on: group, events: events.source)
            let bytes = [UInt8](repeating: 3, count: 8 << 20)
            await on(loop) {
                channel.write(bytes)
                channel.close()
                channel.close()
                channel.write(Array("after the close".utf8))
                #expect(!channel.isOpen)
            }
            #expect(try client.receive(bytes.count) == bytes)
            #expect(client.isAtEnd())
            #expect(await events.next() == .closed(.closed))
            await on(loop) { channel.abort() }
            events.source.finish()
            #expect(await events.next() == nil)
        }
    }

    @Test(
        "a closed connection counts as open until its peer has taken what the kernel holds", arguments: [false, true])
    func closeUnread(peerFinishes: Bool) async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let events = Events(of: ChannelEvent.self)
            let (channel, client) = try await connected(on: group, events: events.source, receiveBuffer: 2048)
            let bytes = [UInt8](repeating: 3, count: 64 << 10)
            await on(loop) { channel.write(bytes) }
            #expect(await events.next() == .drained, "the kernel has taken it, and the peer has not")
            if peerFinishes {
                client.finishSending()
                #expect(await events.next() == .peerFinished)
            }
            await on(loop) { channel.close() }
            for _ in 0..<100 { await on(loop) { #expect(channel.state == .closing) } }
            #expect(try client.receive(bytes.count) == bytes)
            #expect(client.isAtEnd())
            #expect(await events.next() == .closed(peerFinishes ? .peerClosed : .closed))
        }
    }

    @Test("a peer that was still sending reads its answer whole")
    func closeWhilePeerSends() async throws {
        try await withLoops { group in
            let listener = try TCPListener.bind(host: "127.0.0.1", port: 0, on: group) { _ in
                Answering { channel in
                    channel.write(Array("enough".utf8))
                    channel.close()
                }
            }
            let client = try BlockingSocket(port: listener.port)
            for _ in 0..<64 { try client.send([UInt8](repeating: 0, count: 64 * 1024)) }
            #expect(try client.receiveText(6) == "enough")
            #expect(client.isAtEnd())
        }
    }

    @Test("a peer that floods a connection after its close is reset")
    func floodAfterClose() async throws {
        try await withLoops { group in
            let listener = try TCPListener.bind(host: "127.0.0.1", port: 0, on: group) { _ in
                Answering { $0.close() }
            }
            let client = try BlockingSocket(port: listener.port)
            let piece = [UInt8](repeating: 0, count: 1 << 20)
            var sent = 0
            // Not for as long as it lingers, in which gigabytes would go through.
            #expect(throws: WireError.self) {
                while sent < 256 {
                    try client.send(piece)
                    sent += 1
                }
            }
            #expect(sent < 128)
        }
    }

    @Test(
        "a flood after the close is read with pauses, so that the loop has time for others",
        arguments: [1 << 20, 100])
    func breaksBetweenDrops(pieceSize: Int) async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let listener = try TCPListener.bind(host: "127.0.0.1", port: 0, on: group) { _ in
                Answering { $0.close() }
            }
            let begin = ContinuousClock.now
            let client = try BlockingSocket(port: listener.port)
            let piece = [UInt8](repeating: 0, count: pieceSize)
            #expect(throws: WireError.self) {
                while true { try client.send(piece) }
            }
            let breaks = (ContinuousClock.now - begin) / DroppedInput.breakTime
            // The first bytes, and the end.
            #expect(Double(loop.counters.reads.value) < breaks + 8)
        }
    }

    @Test("the peer's end closes the channel after what is pending")
    func peerCloses() async throws {
        try await withLoops { group in
            let events = Events(of: ChannelEvent.self)
            let (channel, client) = try await connected(on: group, events: events.source)
            await on(group.loops[0]) { channel.write(Array("last words".utf8)) }
            client.finishSending()
            #expect(try client.receiveText(10) == "last words")
            #expect(client.isAtEnd())
            #expect(await events.next() == .drained)
            #expect(await events.next() == .peerFinished)
            #expect(await events.next() == .closed(.peerClosed))
        }
    }

    @Test("a handler may go on writing to a peer that has finished")
    func halfOpen() async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let events = Events(of: ChannelEvent.self)
            let channels = Events(of: Channel.self)
            let listener = try TCPListener.bind(host: "127.0.0.1", port: 0, on: group) { channel in
                channels.source.yield(channel)
                return Recorder(events.source, staysHalfOpen: true)
            }
            let client = try BlockingSocket(port: listener.port)
            let channel = try #require(await channels.next())
            client.finishSending()
            #expect(await events.next() == .peerFinished)
            await on(loop) { channel.write(Array("still here".utf8)) }
            #expect(try client.receiveText(10) == "still here")
            #expect(await events.next() == .drained)
            await on(loop) { channel.close() }
            #expect(client.isAtEnd())
            #expect(await events.next() == .closed(.peerClosed))
        }
    }

    @Test("abort drops what is pending and resets the peer")
    func abort() async throws {
        try await withLoops { group in
            let events = Events(of: ChannelEvent.self)
            let (channel, client) = try await connected(on: group, events: events.source)
            await on(group.loops[0]) {
                channel.write(Array("never sent".utf8))
                channel.abort()
                #expect(channel.unsentBytes == 0)
            }
            #expect(!client.isAtEnd())
            #expect(await events.next() == .closed(.aborted))
        }
    }

    @Test("a reset by the peer is a failure with its errno")
    func reset() async throws {
        try await withLoops { group in
            let events = Events(of: ChannelEvent.self)
            let (_, client) = try await connected(on: group, events: events.source)
            Socket(descriptor: client.descriptor).resetOnClose()
            client.disconnect()
            #expect(await events.next() == .closed(.failed(SystemError("recv", code: ECONNRESET))))
        }
    }

    @Test("a paused channel whose peer resets is closed, and the loop does not spin")
    func resetWhilePaused() async throws {
        try await withLoops { group in
            let events = Events(of: ChannelEvent.self)
            let (channel, client) = try await connected(on: group, events: events.source)
            await on(group.loops[0]) { channel.pauseReading() }
            Socket(descriptor: client.descriptor).resetOnClose()
            client.disconnect()
            #expect(await events.next() == .closed(.failed(SystemError("socket", code: ECONNRESET))))
        }
    }

    @Test("writing to a peer that has gone is a failure, and not a signal")
    func brokenPipe() async throws {
        try await withLoops { group in
            let events = Events(of: ChannelEvent.self)
            let (channel, client) = try await connected(on: group, events: events.source)
            await on(group.loops[0]) {
                channel.pauseReading()
                Socket(descriptor: client.descriptor).resetOnClose()
                client.disconnect()
                channel.write(Array("into the void".utf8))
            }
            guard case .closed(.failed(let error)) = await events.next() else {
                Issue.record("not closed by a failure")
                return
            }
            #expect([EPIPE, ECONNRESET].contains(error.code))
        }
    }

    @Test(
        "an event for a descriptor closed earlier in the turn is dropped, also if its number is reused")
    func staleEvents() async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let channels = Events(of: Channel.self)
            let pair = Mutex<[Channel]>([])
            let reopened = Events(of: Bool.self)
            let events = Events(of: ChannelEvent.self)
            let listener = try TCPListener.bind(host: "127.0.0.1", port: 0, on: group) { channel in
                channels.source.yield(channel)
                // The first of the two that gets its event closes the other, whose number a third socket takes.
                return Answering { first in
                    guard let other = pair.withLock({ $0 }).first(where: { $0 !== first }) else { return }
                    let number = other.socket.descriptor
                    other.abort()
                    let third = Socket(descriptor: dup(first.socket.descriptor))
                    Channel(third, peer: first.peer, loop: loop).start(Recorder(events.source))
                    reopened.source.yield(third.descriptor == number)
                }
            }
            let clients = [try BlockingSocket(port: listener.port), try BlockingSocket(port: listener.port)]
            let both = [try #require(await channels.next()), try #require(await channels.next())]
            pair.withLock { $0 = both }
            let before = loop.counters.reads.value
            // On the loop, so that both are readable when it next asks.
            await on(loop) {
                for client in clients { _ = Glibc.send(client.descriptor, "x", 1, 0) }
            }
            _ = await reopened.next()
            await on(loop) {}
            #expect(loop.counters.reads.value == before + 1)
        }
    }

    @Test("shutting the group down also closes channels that epoll does not watch at the time")
    func groupShutdownWhilePaused() async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let loop = group.loops[0]
        let events = Events(of: ChannelEvent.self)
        let (channel, client) = try await connected(on: group, events: events.source)
        await on(loop) {
            channel.pauseReading()
            channel.socket.shutdownOutput()
        }
        #expect(client.isAtEnd())
        client.finishSending()
        while await on(loop, { channel.pollWatch.isWatching }) {}
        group.shutdown()
        #expect(await events.next() == .closed(.loopStopped))
    }

    @Test("shutting the group down closes channels and notifies their handlers")
    func groupShutdown() async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let events = Events(of: ChannelEvent.self)
        let (channel, client) = try await connected(on: group, events: events.source)
        await on(group.loops[0]) { channel.write(Array("bye".utf8)) }
        group.shutdown()
        #expect(try client.receiveText(3) == "bye")
        #expect(client.isAtEnd())
        #expect(await events.next() == .drained)
        #expect(await events.next() == .closed(.loopStopped))
        #expect(group.loops[0].counters.opened.value == group.loops[0].counters.closed.value)
    }
}
