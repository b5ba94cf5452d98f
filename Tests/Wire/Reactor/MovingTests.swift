import ParlorReactor
import ParlorTestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct MovingTests {
    @Test("a connection moves to another loop with its unread input and unwritten output")
    func move() async throws {
        try await withLoops(2) { group in
            let events = Events(of: ChannelEvent.self)
            let second = group.loops[1]
            let listener = try TCPListener.bind(host: "127.0.0.1", port: 0, on: group) { _ in
                Answering { channel in
                    channel.write(Array("1".utf8))
                    guard let connection = channel.detach() else { return }
                    channel.write(Array("dropped: the channel has gone".utf8))
                    second.attach(connection, received: Array("unread".utf8)) { _ in
                        Recorder(events.source) { channel, _ in
                            #expect(second.isCurrent)
                            channel.write(Array("2".utf8))
                        }
                    }
                }
            }
            let client = try BlockingSocket(port: listener.port)
            try client.send("first")
            #expect(await events.next() == .received(Array("unread".utf8)))
            #expect(try client.receiveText(2) == "12")
            #expect(await events.next() == .drained)
            try client.send("second")
            #expect(await events.next() == .received(Array("second".utf8)))
            #expect(try client.receiveText(1) == "2")
        }
    }

    @Test("input that arrives while a connection is between loops is not lost")
    func inputInBetween() async throws {
        try await withLoops(2) { group in
            let events = Events(of: ChannelEvent.self)
            let (channel, client) = try await connected(on: group, events: events.source)
            let connection = try #require(await on(channel.loop) { channel.detach() })
            try client.send("in between")
            let next = group.loops[1 - channel.loop.index]
            next.attach(connection) { _ in Recorder(events.source) }
            #expect(await events.next() == .received(Array("in between".utf8)))
        }
    }

    @Test("a closed channel cannot be detached, and a connection is attached once")
    func once() async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let (channel, client) = try await connected(on: group)
            let connection = try #require(await on(loop) { channel.detach() })
            #expect(await on(loop) { channel.detach() == nil })
            loop.attach(connection) { _ in Echo() }
            loop.attach(connection) { _ in
                Issue.record("attached twice")
                return Echo()
            }
            try client.send("x")
            #expect(try client.receiveText(1) == "x")
        }
    }

    @Test("a connection that is never attached is closed")
    func dropped() async throws {
        try await withLoops { group in
            let (channel, client) = try await connected(on: group)
            #expect(await on(group.loops[0]) { channel.detach() != nil })
            #expect(client.isAtEnd())
        }
    }
}
