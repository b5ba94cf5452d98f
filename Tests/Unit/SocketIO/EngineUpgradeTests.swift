import ParlorTestSupport
import Testing

@testable import ParlorSocketIO

@Suite("The upgrade to WebSocket")
struct EngineUpgradeTests {
    private func attached() -> EngineSession {
        var engine = session(.polling)
        _ = engine.attachWebSocket()
        return engine
    }

    @Test("a probe answers the held GET at once")
    func probe() {
        var engine = session(.polling)
        _ = engine.poll()
        #expect(engine.attachWebSocket() == [.startTimer(.upgrade, .seconds(10))])
        #expect(
            engine.receiveOnProbe("2probe".bytes) == [.writeToProbe(.probeAnswer), .answerHeldPoll(Array("6".utf8))])
        #expect(OutgoingPacket.probeAnswer.payload.text == "3probe")
        #expect(engine.receiveOnProbe("5".bytes) == [.stopTimer(.upgrade), .promoteProbe])
        #expect(engine.transport == .webSocket)
    }

    @Test("a GET during the upgrade is not held")
    func pollDuringUpgrade() {
        var engine = attached()
        _ = engine.receiveOnProbe("2probe".bytes)
        #expect(engine.poll() == [.answer(Array("6".utf8))])
        _ = engine.send(OutgoingPacket("4a"))
        #expect(engine.poll() == [.answer(Array("4a".utf8))])
    }

    @Test("packets sent during the upgrade arrive once, by the WebSocket, before later ones")
    func sentDuringUpgrade() {
        var engine = attached()
        _ = engine.receiveOnProbe("2probe".bytes)
        #expect(engine.send(OutgoingPacket("4a")) == .queue && engine.flush() == [])
        #expect(
            engine.receiveOnProbe("5".bytes) == [.stopTimer(.upgrade), .promoteProbe, .write(OutgoingPacket("4a"))])
        #expect(engine.send(OutgoingPacket("4b")) == .webSocket && engine.queuedCost == 0)
    }

    @Test("requests and WebSockets of an upgraded session are refused; the session goes on")
    func afterUpgrade() {
        var engine = attached()
        _ = engine.receiveOnProbe("2probe".bytes)
        _ = engine.receiveOnProbe("5".bytes)
        #expect(engine.poll() == [.refuse] && engine.post("4a".bytes) == [.refuse])
        #expect(engine.attachWebSocket() == [.refuse] && engine.isOpen)
    }

    @Test("a second WebSocket is refused while one probes")
    func secondProbe() {
        var engine = attached()
        #expect(engine.attachWebSocket() == [.refuse])
        #expect(engine.receiveOnProbe("2probe".bytes) == [.writeToProbe(.probeAnswer)])
    }

    @Test(
        "a probe that sends anything else is closed, and polling goes on",
        arguments: ["5", "4hello", "2", "x", "", "3probe"])
    func badProbe(text: String) {
        var engine = attached()
        #expect(engine.receiveOnProbe(text.bytes) == [.stopTimer(.upgrade), .closeProbe])
        #expect(engine.poll() == [.hold] && engine.transport == .polling)
        #expect(engine.attachWebSocket() == [.startTimer(.upgrade, .seconds(10))])
    }

    @Test("a probe that ends, or takes too long, leaves the session on polling")
    func unfinished() {
        var ended = attached()
        _ = ended.receiveOnProbe("2probe".bytes)
        #expect(ended.probeClosed() == [.stopTimer(.upgrade)])
        #expect(ended.poll() == [.hold])

        var slow = attached()
        #expect(slow.timerFired(.upgrade) == [.stopTimer(.upgrade), .closeProbe])
        #expect(slow.poll() == [.hold] && slow.probeClosed() == [])
    }

    @Test("a session that ends also ends its probe")
    func endsWithProbe() {
        var engine = attached()
        #expect(engine.post("1".bytes).dropLast() == [.stopTimer(.upgrade), .closeProbe, .close(.closedByClient)])
    }

    /// Runs a client that keeps to the protocol, but in any order that the network may cause; the
    /// server sends numbers.
    @Test("nothing is lost, doubled or reordered, whatever the timing", arguments: 0..<300)
    func anyTiming(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var engine = session(.polling)
        var sent = 0
        var received: [String] = []
        var polls = false
        var step = 0  // of the upgrade: attach, 2probe, 5

        func take(_ body: [UInt8]) {
            polls = false
            received += body.text.split(separator: "\u{1E}").filter { $0.first == "4" }.map { String($0.dropFirst()) }
        }
        func perform(_ actions: [EngineAction]) {
            for action in actions {
                switch action {
                case .answer(let body), .answerHeldPoll(let body): take(body)
                case .write(let packet): received.append(packet.payload.dropFirst().text)
                case .close, .refuse, .closeProbe: Issue.record("\(action) for a client that did nothing wrong")
                case .hold, .writeToProbe, .promoteProbe, .startTimer, .stopTimer, .deliver, .notePing,
                    .noteAnsweredPing:
                    break
                }
            }
        }
        for _ in 0..<60 {
            switch Int.random(in: 0..<6, using: &generator) {
            case 0 where !polls && step < 3:
                polls = true
                perform(engine.poll())
            case 1 where step == 0:
                step = 1
                perform(engine.attachWebSocket())
            case 2 where step == 1:
                step = 2
                perform(engine.receiveOnProbe("2probe".bytes))
            case 3 where step == 2 && !polls:
                step = 3
                perform(engine.receiveOnProbe("5".bytes))
            case 4:
                perform(engine.flush())
            default:
                let packet = OutgoingPacket("4\(sent)")
                sent += 1
                if engine.send(packet) == .webSocket { perform([.write(packet)]) }
            }
        }
        while engine.queuedCost > 0 { perform(engine.holdsPoll ? engine.flush() : engine.poll()) }
        #expect(received == (0..<sent).map(String.init))
    }
}
