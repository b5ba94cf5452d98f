import Glibc
import ParlorTestSupport
import Synchronization
import Testing

@testable import ParlorReactor

@Suite(.timeLimit(.minutes(1)))
struct ChannelTests {
    @Test("many connections each get their own bytes back")
    func echo() async throws {
        try await withLoops(2) { group in
            let listener = try TCPListener.bind(host: "127.0.0.1", port: 0, on: group) { _ in Echo() }
            for round in 0..<4 {
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for number in 0..<50 {
                        tasks.addTask {
                            let client = try BlockingSocket(port: listener.port)
                            let text = "round \(round), client \(number)"
                            try client.send(text)
                            #expect(try client.receiveText(text.utf8.count) == text)
                        }
                    }
                    try await tasks.waitForAll()
                }
            }
            #expect(group.loops.reduce(0) { $0 + $1.counters.opened.value } == 200)
        }
    }

    @Test("the writes of a turn are sent in one system call, whole and in order")
    func joining() async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let listener = try TCPListener.bind(host: "127.0.0.1", port: 0, on: group) { _ in
                Answering { channel in
                    for number in 0..<500 { channel.write(Array("\(number)\n".utf8)) }
                    channel.write([])
                    loop.atEndOfTurn { channel.write(Array("end".utf8)) }
                }
            }
            let expected = (0..<500).map { "\($0)\n" }.joined() + "end"
            let client = try BlockingSocket(port: listener.port)
            try client.send("go")
            #expect(try client.receiveText(expected.utf8.count) == expected)
            // The client may have the bytes before the loop has counted them.
            await on(loop) {}
            #expect(loop.counters.writes.value == 1)
            #expect(loop.counters.bytesWritten.value == expected.utf8.count)
        }
    }

    @Test(
        "broadcasts and single writes of a turn reach each of many peers, also one that does not read, in order")
    func broadcasts() async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            var pairs: [(channel: Channel, client: BlockingSocket)] = []
            for _ in 0..<5 { pairs.append(try await connected(on: group, receiveBuffer: 4096)) }
            let channels = pairs.map(\.channel)
            for turn in 0..<400 {
                await on(loop) {
                    for part in 0..<3 {
                        let everyone = Array("<\(turn).\(part)\(String(repeating: "-", count: 2_000))>".utf8)
                        for channel in channels { channel.write(everyone) }
                        channels[part].write(Array("[\(turn) for \(part)]".utf8))
                    }
                }
            }
            for (index, pair) in pairs.enumerated() {
                var expected = ""
                for turn in 0..<400 {
                    for part in 0..<3 {
                        expected += "<\(turn).\(part)\(String(repeating: "-", count: 2_000))>"
                        if index == part { expected += "[\(turn) for \(part)]" }
                    }
                }
                #expect(try pair.client.receiveText(expected.utf8.count) == expected)
            }
        }
    }

    @Test("what a closed gate holds is sent as it was written, while other channels go on")
    func held() async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let gate = OutputGate()
            var pairs: [(channel: Channel, client: BlockingSocket)] = []
            for _ in 0..<4 { pairs.append(try await connected(on: group)) }
            let channels = pairs.map(\.channel)
            await on(loop) { for channel in channels.prefix(2) { channel.setOutputGate(gate) } }
            gate.close()
            for turn in 0..<20 {
                await on(loop) {
                    for text in ["<all \(turn)>", "<again \(turn)>"] {
                        let bytes = Array(text.utf8)
                        for channel in channels { channel.write(bytes) }
                    }
                }
                await on(loop) {
                    let bytes = Array("<some \(turn), who do not wait>".utf8)
                    for channel in channels.suffix(2) { channel.write(bytes) }
                }
            }
            gate.open(until: nil)
            for (index, pair) in pairs.enumerated() {
                let expected = (0..<20).map { turn in
                    "<all \(turn)><again \(turn)>" + (index < 2 ? "" : "<some \(turn), who do not wait>")
                }.joined()
                #expect(try pair.client.receiveText(expected.utf8.count) == expected)
            }
        }
    }

    @Test("a slow peer gets everything in order, and does not delay the others")
    func slowReader() async throws {
        try await withLoops { group in
            let events = Events(of: ChannelEvent.self)
            // Pieces below, at and above the size that is joined.
            let pieces = (0..<200).map {
                [UInt8](repeating: UInt8($0 % 251), count: [10, 1_000, 16_384, 70_000][$0 % 4])
            }
            let listener = try TCPListener.bind(host: "127.0.0.1", port: 0, on: group) { _ in
                Recorder(events.source) { channel, bytes in
                    guard bytes == Array("all".utf8) else { return channel.write(bytes) }
                    for piece in pieces { channel.write(piece) }
                }
            }
            let slow = try BlockingSocket(port: listener.port, receiveBuffer: 64 * 1024)
            try slow.send("all")
            #expect(await events.next() == .received(Array("all".utf8)))

            let other = try BlockingSocket(port: listener.port)
            try other.send("hello")
            #expect(try other.receiveText(5) == "hello")

            let expected = Array(pieces.joined())
            #expect(try slow.receive(expected.count) == expected)
            #expect(await events.next() == .received(Array("hello".utf8)))
            #expect(await events.next() == .drained)
            #expect(await events.next() == .drained)
        }
    }

    @Test("a stalled write is reported with its time, and ends when the peer reads")
    func stalled() async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let (channel, client) = try await connected(on: group, receiveBuffer: 4096)
            let block = [UInt8](repeating: 7, count: 1 << 20)
            #expect(await on(loop) { channel.stalledSince } == nil)
            for _ in 0..<16 { await on(loop) { channel.write(block) } }
            let (pending, since, now) = await on(loop) {
                channel.flush()
                return (channel.unsentBytes, channel.stalledSince, loop.now)
            }
            #expect(pending > 0)
            #expect(try #require(since) <= now)
            #expect(try client.receive(16 << 20).count == 16 << 20)
            var after = 1
            while after > 0 { after = await on(loop) { channel.unsentBytes } }
            #expect(await on(loop) { channel.stalledSince } == nil)
        }
    }

    @Test("a paused channel receives nothing until it is resumed, and then all")
    func pausing() async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let events = Events(of: ChannelEvent.self)
            let (channel, client) = try await connected(on: group, events: events.source)
            await on(loop) { channel.pauseReading() }
            try client.send("held")
            client.finishSending()
            // The loop gets round to another connection in between.
            let (_, other) = try await connected(on: group)
            try other.send("x")
            #expect(try other.receive(1).count == 1)
            #expect(await on(loop) { channel.isOpen })
            await on(loop) { channel.resumeReading() }
            #expect(await events.next() == .received(Array("held".utf8)))
            #expect(await events.next() == .peerFinished)
            #expect(await events.next() == .closed(.peerClosed))
        }
    }

    @Test("a channel that is paused with both directions shut does not spin the loop, and loses nothing")
    func pausedHangUp() async throws {
        try await withLoops { group in
            let loop = group.loops[0]
            let events = Events(of: ChannelEvent.self)
            let (channel, client) = try await connected(on: group, events: events.source)
            await on(loop) {
                channel.pauseReading()
                channel.socket.shutdownOutput()
            }
            #expect(client.isAtEnd())
            try client.send("late")
            client.finishSending()
            await on(loop) {}
            let before = loop.counters.turns.value
            await withCheckedContinuation { continuation in
                loop.execute { loop.schedule(after: .milliseconds(20)) { continuation.resume() } }
            }
            #expect(loop.counters.turns.value - before < 20)
            await on(loop) { channel.resumeReading() }
            #expect(await events.next() == .received(Array("late".utf8)))
            #expect(await events.next() == .peerFinished)
            #expect(await events.next() == .closed(.peerClosed))
        }
    }
}
