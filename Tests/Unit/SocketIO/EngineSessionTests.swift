import ParlorJSON
import Testing

@testable import ParlorSocketIO

let shortHeartbeat = EngineConfiguration(pingInterval: .milliseconds(300), pingTimeout: .milliseconds(200))

func session(_ transport: EngineSession.Transport) -> EngineSession {
    EngineSession(id: "abc", transport: transport, configuration: shortHeartbeat)
}

@Suite("An Engine.IO session")
struct EngineSessionTests {
    @Test("the handshake has exactly the protocol's keys")
    func handshake() throws {
        let polling = session(.polling).handshakePacket.payload
        #expect(
            polling.text
                == #"0{"sid":"abc","upgrades":["websocket"],"pingInterval":300,"pingTimeout":200,"maxPayload":1000000}"#
        )
        let webSocket = try JSONValue(parsing: session(.webSocket).handshakePacket.payload.dropFirst())
        #expect(webSocket["upgrades"]?.text == "[]")
        #expect(session(.polling).start() == [.startTimer(.heartbeat, .milliseconds(300))])
    }

    // MARK: Polling

    @Test("a GET is held until there are packets, and gets all of them")
    func holdsPoll() {
        var engine = session(.polling)
        #expect(engine.poll() == [.hold])
        #expect(engine.send(OutgoingPacket("4a")) == .queue)
        #expect(engine.send(OutgoingPacket("4b")) == .queue)
        #expect(engine.flush() == [.answerHeldPoll(Array("4a\u{1E}4b".utf8))])
        #expect(engine.flush() == [] && engine.queuedCost == 0)
    }

    @Test("a GET is answered at once with the queued packets, sixteen at most")
    func sixteenPackets() {
        var engine = session(.polling)
        for number in 0..<40 { _ = engine.send(OutgoingPacket("4\(number)")) }
        var sizes: [Int] = []
        var numbers: [String] = []
        while engine.queuedCost > 0 {
            guard case .answer(let body) = engine.poll().first else { break }
            let packets = body.text.split(separator: "\u{1E}").map { String($0.dropFirst()) }
            sizes.append(packets.count)
            numbers += packets
        }
        #expect(sizes == [16, 16, 8] && numbers == (0..<40).map(String.init))
        #expect(engine.poll() == [.hold])
    }

    @Test("a second GET is refused, the first gets a close packet, and the session ends")
    func overlappingPolls() {
        var engine = session(.polling)
        _ = engine.poll()
        #expect(engine.poll() == [.refuse, .answerHeldPoll(Array("1".utf8)), .close(.overlappingPolls)])
        #expect(engine.poll() == [.refuse] && engine.post("4a".bytes) == [.refuse])
    }

    @Test("the messages of a POST are delivered in order before it is answered")
    func post() {
        var engine = session(.polling)
        #expect(
            engine.post("4a\u{1E}bAQ==".bytes) == [
                .deliver(EnginePacket("a")), .deliver(EnginePacket(binary: [1])), .answer(Array("ok".utf8)),
            ])
    }

    @Test("a malformed POST is refused and ends the session; nothing of it is delivered")
    func malformedPost() {
        var engine = session(.polling)
        _ = engine.poll()
        let actions = engine.post("4a\u{1E}abc".bytes)
        #expect(
            actions == [
                .refuse, .answerHeldPoll(Array("6".utf8)),
                .close(.violation(ProtocolViolation("an unknown packet type"))),
            ])
        #expect(!engine.isOpen)
    }

    @Test("a close packet answers the held GET and ends the session; packets after it are ignored")
    func closeByClient() {
        var engine = session(.polling)
        _ = engine.poll()
        #expect(
            engine.post("1\u{1E}4late".bytes)
                == [.answerHeldPoll(Array("6".utf8)), .close(.closedByClient), .answer(Array("ok".utf8))])
    }

    @Test("a GET whose client disconnects ends the session")
    func pollLost() {
        var engine = session(.polling)
        _ = engine.poll()
        #expect(engine.pollLost() == [.close(.transportClosed)])
        #expect(engine.pollLost() == [])
    }

    // MARK: WebSocket

    @Test("messages pass straight through a WebSocket")
    func webSocket() {
        var engine = session(.webSocket)
        #expect(engine.receive("4a".bytes) == [.deliver(EnginePacket("a"))])
        #expect(engine.receiveBinary([1, 2]) == [.deliver(EnginePacket(binary: [1, 2]))])
        #expect(engine.send(OutgoingPacket("4b")) == .webSocket)
        #expect(engine.poll() == [.refuse] && engine.post("4a".bytes) == [.refuse])
        #expect(engine.attachWebSocket() == [.refuse])
        #expect(engine.receive("1".bytes) == [.close(.closedByClient)])
        #expect(engine.receive("4a".bytes) == [] && engine.send(OutgoingPacket("4b")) == .nowhere)
    }

    @Test(
        "a packet that a client may not send ends the session", arguments: ["", "abc", "9", "2", "2probe", "0{}", "5"])
    func violations(text: String) throws {
        var engine = session(.webSocket)
        let last = try #require(engine.receive(text.bytes).last)
        guard case .close(.violation) = last else {
            Issue.record("\(last)")
            return
        }
        #expect(!engine.isOpen)
    }

    @Test("a WebSocket that ends also ends the session")
    func webSocketClosed() {
        var engine = session(.webSocket)
        #expect(engine.webSocketClosed() == [.close(.transportClosed)] && engine.webSocketClosed() == [])
    }

    // MARK: Heartbeat

    @Test("a ping is answered by a pong, over and over")
    func heartbeat() {
        var engine = session(.webSocket)
        for _ in 0..<3 {
            #expect(
                engine.timerFired(.heartbeat)
                    == [.write(.ping), .notePing, .startTimer(.heartbeat, .milliseconds(200))])
            #expect(engine.receive("3".bytes) == [.noteAnsweredPing, .startTimer(.heartbeat, .milliseconds(300))])
            #expect(
                engine.receive("3".bytes) == [.startTimer(.heartbeat, .milliseconds(300))], "nobody asked for this one")
        }
    }

    @Test("a missing pong ends the session")
    func pingTimeout() {
        var engine = session(.polling)
        _ = engine.poll()
        #expect(
            engine.timerFired(.heartbeat)
                == [.answerHeldPoll(Array("2".utf8)), .notePing, .startTimer(.heartbeat, .milliseconds(200))])
        _ = engine.poll()
        #expect(engine.timerFired(.heartbeat) == [.answerHeldPoll(Array("6".utf8)), .close(.pingTimeout)])
        #expect(engine.timerFired(.heartbeat) == [])
    }

    @Test("a ping waits for the next GET")
    func queuedPing() {
        var engine = session(.polling)
        #expect(engine.timerFired(.heartbeat) == [.notePing, .startTimer(.heartbeat, .milliseconds(200))])
        #expect(engine.poll() == [.answer(Array("2".utf8))])
        #expect(
            engine.post("3".bytes)
                == [.noteAnsweredPing, .startTimer(.heartbeat, .milliseconds(300)), .answer(Array("ok".utf8))])
    }

    // MARK: The server's end

    @Test("closing answers the held GET with the queued packets, and no close packet")
    func closing() {
        var idle = session(.polling)
        _ = idle.poll()
        #expect(idle.close() == [.answerHeldPoll(Array("6".utf8)), .close(.closedByServer)])
        var busy = session(.polling)
        _ = busy.poll()
        _ = busy.send(OutgoingPacket("4last"))
        #expect(busy.close() == [.answerHeldPoll(Array("4last".utf8)), .close(.closedByServer)])
        #expect(busy.close() == [])
    }

    @Test("leaving waits until the last packets are fetched, and reports it")
    func leaving() {
        var held = session(.polling)
        _ = held.poll()
        _ = held.send(OutgoingPacket("441"))
        #expect(held.leave() == [.answerHeldPoll(Array("441\u{1E}1".utf8)), .close(.closedByServer)])

        var away = session(.polling)
        for number in 0..<20 { _ = away.send(OutgoingPacket("4\(number)")) }
        #expect(away.leave() == [.startTimer(.closing, .milliseconds(200))])
        #expect(away.send(OutgoingPacket("4late")) == .nowhere && away.post("4a".bytes) == [.refuse])
        guard case .answer(let first) = away.poll().first, case .answer(let second) = away.poll().first else {
            Issue.record("the last packets were not given")
            return
        }
        let packets = (first.text + "\u{1E}" + second.text).split(separator: "\u{1E}").map(String.init)
        #expect(packets == (0..<20).map { "4\($0)" } + ["1"])
        #expect(!away.isOpen && away.poll() == [.refuse])
    }

    @Test("the session ends even if nobody fetches the last packets")
    func farewellTimeout() {
        var engine = session(.polling)
        _ = engine.send(OutgoingPacket("441"))
        _ = engine.leave()
        #expect(engine.timerFired(.closing) == [.close(.closedByServer)])
    }
}
