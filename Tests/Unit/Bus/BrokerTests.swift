import ParlorMessageBus
import ParlorSecurity
import ParlorServiceKit
import Testing

@testable import ParlorBus

/// The broker without sockets, with a clock that the test advances.
@Suite("broker")
struct BrokerTests {
    private func send(_ broker: Broker, _ peer: BrokerPeer, _ line: String, at now: Duration = .zero) {
        Array(line.utf8).withUnsafeBytes { broker.receive($0, from: peer, at: now) }
    }

    private func output(_ peer: BrokerPeer) -> [String] {
        String(decoding: peer.takeOutbox(), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func connectedPeer(_ broker: Broker, at now: Duration = .zero) -> BrokerPeer {
        let peer = broker.connect(at: now)
        send(broker, peer, #"{"op":"hello","version":1}"#, at: now)
        _ = peer.takeOutbox()
        return peer
    }

    @Test("a peer that sends no hello in time is disconnected")
    func helloTimeout() {
        let broker = Broker(settings: BrokerSettings())
        let peer = broker.connect(at: .seconds(1))
        broker.tick(at: .milliseconds(5999))
        #expect(output(peer).isEmpty)
        broker.tick(at: .seconds(6))
        #expect(output(peer) == [#"{"op":"err","code":"hello_first","message":"no hello in time"}"#])
        #expect(peer.phase == .closing)
        #expect(broker.counters.peers == 0 && broker.counters.refusedPeers == 1)
    }

    @Test("a silent peer is pinged once an interval, and is dead after three; any line is a sign of life")
    func keepalive() {
        let broker = Broker(settings: BrokerSettings())
        let silent = connectedPeer(broker)
        let alive = connectedPeer(broker)
        broker.tick(at: .milliseconds(14_999))
        #expect(output(silent).isEmpty)
        broker.tick(at: .seconds(15))
        broker.tick(at: .seconds(16))
        #expect(output(silent) == [#"{"op":"ping"}"#])
        send(broker, alive, #"{"op":"pong"}"#, at: .seconds(30))
        broker.tick(at: .seconds(31))
        #expect(output(silent) == [#"{"op":"ping"}"#])
        broker.tick(at: .seconds(45))
        #expect(output(silent) == [#"{"op":"err","code":"dead","message":"nothing heard for too long"}"#])
        #expect(silent.phase == .closing)
        #expect(alive.phase == .open)
    }

    @Test("a peer with a rate waits once it has sent more than that, by number or by size; others do not")
    func rate() throws {
        let row = #"{"service":"lab","rate":100,"token":"\#(Self.digestOfSecret)"}"#
        let table = try BusPeerTable(Array(row.utf8), from: "peers")
        var settings = BrokerSettings()
        settings.access = .peers(table)
        let broker = Broker(settings: settings)
        let peer = broker.connect(at: .zero)
        send(broker, peer, #"{"op":"hello","version":1,"token":"secret"}"#)
        func publish(_ count: Int, bytes: Int = 1, at now: Duration) {
            let data = String(repeating: "x", count: bytes)
            for _ in 0..<count { send(broker, peer, #"{"op":"pub","subject":"lab.log","data":"\#(data)"}"#, at: now) }
        }
        publish(100, at: .zero)
        #expect(broker.pause(of: peer) == nil)
        publish(50, at: .zero)
        #expect(broker.pause(of: peer) == .milliseconds(500))
        // It has paid for everything after 1.5 s, and may send at once what it has a second for.
        publish(25, bytes: 4096, at: .seconds(2))
        #expect(broker.pause(of: peer) == .milliseconds(250))
        // Whatever it sends counts, but replies to others.
        for line in ["", "x", #"{"op":"x"}"#, #"{"op":"ping"}"#, #"{"op":"unsub","id":9}"#] {
            for _ in 0..<30 { send(broker, peer, line, at: .seconds(4)) }
        }
        #expect(broker.pause(of: peer) == .milliseconds(500))
        for _ in 0..<100 { send(broker, peer, #"{"op":"res","id":9,"data":1}"#, at: .seconds(6)) }
        #expect(broker.pause(of: peer) == nil)
        #expect(broker.counters.throttled == 3)
        let unlimited = Broker(settings: BrokerSettings())
        let other = connectedPeer(unlimited)
        for _ in 0..<5000 { send(unlimited, other, #"{"op":"pub","subject":"lab.log","data":1}"#) }
        #expect(unlimited.pause(of: other) == nil)
    }

    private static let digestOfSecret = "sha256:" + SHA256.hash("secret".utf8).hexadecimal

    @Test("a request is answered at its deadline, and a reply after it is dropped")
    func deadline() {
        let broker = Broker(settings: BrokerSettings())
        let responder = connectedPeer(broker)
        let requester = connectedPeer(broker)
        send(broker, responder, #"{"op":"serve","id":1,"subject":"a","queue":"q"}"#)
        send(broker, requester, #"{"op":"req","id":9,"subject":"a","timeout":250,"data":1}"#, at: .seconds(1))
        #expect(output(responder) == [#"{"op":"msg","sub":1,"reply":1,"subject":"a","timeout":250,"data":1}"#])
        broker.expire(at: .milliseconds(1240))
        #expect(output(requester).isEmpty)
        #expect(broker.hasRequests)
        broker.expire(at: .milliseconds(1260))
        #expect(output(requester) == [#"{"op":"err","id":9,"code":"deadline_exceeded","message":"no reply in time"}"#])
        send(broker, responder, #"{"op":"res","id":1,"data":2}"#)
        #expect(output(requester).isEmpty && output(responder).isEmpty)
        #expect(!broker.hasRequests && broker.counters.requestsInFlight == 0)
    }

    @Test("only the peer that was asked can reply")
    func foreignReply() {
        let broker = Broker(settings: BrokerSettings())
        let responder = connectedPeer(broker)
        let requester = connectedPeer(broker)
        send(broker, responder, #"{"op":"serve","id":1,"subject":"a","queue":"q"}"#)
        send(broker, requester, #"{"op":"req","id":9,"subject":"a","data":1}"#)
        send(broker, requester, #"{"op":"res","id":1,"data":"forged"}"#)
        #expect(output(requester).isEmpty)
        send(broker, responder, #"{"op":"res","id":1,"data":"right"}"#)
        #expect(output(requester) == [#"{"op":"res","id":9,"data":"right"}"#])
    }

    @Test("a peer that is too far behind gets the reason and nothing more; the others get everything")
    func slowConsumer() {
        var settings = BrokerSettings()
        settings.maxUnsentBytes = 1000
        let broker = Broker(settings: settings)
        let slow = connectedPeer(broker)
        let quick = connectedPeer(broker)
        let publisher = connectedPeer(broker)
        for peer in [slow, quick] { send(broker, peer, #"{"op":"sub","id":1,"subject":"a"}"#) }
        send(broker, slow, #"{"op":"serve","id":2,"subject":"a","queue":"q"}"#)
        send(broker, publisher, #"{"op":"req","id":1,"subject":"a","data":0}"#)
        var received = 0
        for number in 0..<50 {
            send(broker, publisher, #"{"op":"pub","subject":"a","data":\#(number)}"#)
            received += output(quick).count
        }
        #expect(received == 50)
        #expect(output(slow) == [#"{"op":"err","code":"slow_consumer","message":"more than 1000 bytes wait"}"#])
        #expect(output(publisher) == [#"{"op":"err","id":1,"code":"disconnected","message":"the responder is gone"}"#])
        #expect(broker.counters.slowConsumers == 1)
        send(broker, slow, #"{"op":"ping"}"#)
        #expect(output(slow).isEmpty)
    }

    @Test("data that was handed over and is not yet sent counts as unsent")
    func handedOver() {
        var settings = BrokerSettings()
        settings.maxUnsentBytes = 1000
        let broker = Broker(settings: settings)
        let peer = connectedPeer(broker)
        peer.handedOver = 990
        send(broker, peer, #"{"op":"ping"}"#)
        #expect(peer.phase == .closing)
    }

    @Test("a peer's subscriptions and requests are bounded")
    func bounds() {
        var settings = BrokerSettings()
        settings.maxSubscriptionsPerPeer = 2
        settings.maxRequestsPerPeer = 1
        let broker = Broker(settings: settings)
        let peer = connectedPeer(broker)
        for id in 1...3 { send(broker, peer, #"{"op":"serve","id":\#(id),"subject":"a","queue":"q"}"#) }
        #expect(output(peer) == [#"{"op":"err","sub":3,"code":"refused","message":"at most 2 subscriptions"}"#])
        send(broker, peer, #"{"op":"sub","id":1,"subject":"b"}"#)
        #expect(output(peer) == [#"{"op":"err","sub":1,"code":"malformed","message":"`id` 1 is in use"}"#])
        send(broker, peer, #"{"op":"unsub","id":2}"#)
        send(broker, peer, #"{"op":"unsub","id":77}"#)
        send(broker, peer, #"{"op":"sub","id":3,"subject":"b"}"#)
        #expect(output(peer).isEmpty)
        send(broker, peer, #"{"op":"req","id":1,"subject":"a","data":1}"#)
        _ = peer.takeOutbox()
        send(broker, peer, #"{"op":"req","id":2,"subject":"a","data":1}"#)
        #expect(output(peer) == [#"{"op":"err","id":2,"code":"refused","message":"at most 1 requests in progress"}"#])
    }

    @Test("a draining broker answers no new request, and ends after the last reply")
    func draining() {
        let broker = Broker(settings: BrokerSettings())
        let peer = connectedPeer(broker)
        send(broker, peer, #"{"op":"serve","id":1,"subject":"a","queue":"q"}"#)
        send(broker, peer, #"{"op":"req","id":1,"subject":"a","data":1}"#)
        _ = peer.takeOutbox()
        broker.startDraining()
        send(broker, peer, #"{"op":"req","id":2,"subject":"a","data":1}"#)
        #expect(output(peer) == [#"{"op":"err","id":2,"code":"draining","message":"this bus is being stopped"}"#])
        #expect(broker.hasRequests)
        send(broker, peer, #"{"op":"res","id":1,"data":1}"#)
        #expect(!broker.hasRequests)
    }

    @Test("a line that would be too long to forward is refused, and the connection goes on")
    func passedOnLength() {
        let broker = Broker(settings: BrokerSettings())
        let peer = connectedPeer(broker)
        send(broker, peer, #"{"op":"serve","id":1,"subject":"a","queue":"q"}"#)
        let text = String(repeating: "x", count: BusLimits.maxPassedOnLine)
        send(broker, peer, #"{"op":"req","id":4,"subject":"a","data":"\#(text)"}"#)
        #expect(output(peer).first?.hasPrefix(#"{"op":"err","id":4,"code":"line_too_long""#) == true)
        send(broker, peer, #"{"op":"req","id":5,"subject":"a","data":1}"#)
        #expect(output(peer).first?.hasPrefix(#"{"op":"msg","sub":1,"reply":1"#) == true)
        send(broker, peer, #"{"op":"res","id":1,"data":"\#(text)"}"#)
        let answers = output(peer)
        #expect(answers.count == 2)
        #expect(answers.last?.hasPrefix(#"{"op":"err","id":5,"code":"line_too_long""#) == true)
    }

    @Test("the tables stay consistent for any lines in any order")
    func fuzz() {
        var random = SystemRandomNumberGenerator()
        let lines = [
            #"{"op":"hello","version":1}"#, #"{"op":"hello","version":2}"#, #"{"op":"ping"}"#, #"{"op":"pong"}"#,
            "nonsense", "",
            #"{"op":"pub","subject":"a.b","data":1}"#, #"{"op":"pub","subject":"*","data":1}"#,
            #"{"op":"pub","data":1}"#,
            #"{"op":"msg","sub":1,"subject":"a","data":1}"#, #"{"op":"err"}"#, #"{"op":"welcome"}"#,
            #"{"op":"res","id":0}"#,
            #"{"op":"req","subject":"a","data":1}"#,
        ]
        var settings = BrokerSettings()
        settings.maxUnsentBytes = 20_000
        let broker = Broker(settings: settings)
        var peers: [BrokerPeer] = []
        for step in 0..<30_000 {
            let now = Duration.milliseconds(step)
            if peers.count < 6 { peers.append(connectedPeer(broker, at: now)) }
            let peer = peers.randomElement(using: &random) ?? peers[0]
            let number = Int.random(in: 0..<8, using: &random)
            let line =
                switch Int.random(in: 0..<8, using: &random) {
                case 0: #"{"op":"sub","id":\#(number),"subject":"\#(["a.*", ">", "a.b", "b"][number % 4])"}"#
                case 1:
                    #"{"op":"serve","id":\#(number),"subject":"\#(["a.*", ">", "a.b", "b"][number % 4])","queue":"q"}"#
                case 2: #"{"op":"unsub","id":\#(number)}"#
                case 3:
                    #"{"op":"req","id":\#(number),"subject":"a.b","timeout":\#(number * 10),"key":"\#(number)","data":1}"#
                case 4:
                    #"{"op":"res","id":\#(Int(broker.counters.requests) - number),"data":1}"#.replacing("-", with: "")
                default: lines.randomElement(using: &random) ?? ""
                }
            send(broker, peer, line, at: now)
            if step % 10 == 0 { broker.tick(at: now) }
            if step % 50 == 0 { for peer in peers where Bool.random(using: &random) { _ = peer.takeOutbox() } }
            if step % 200 == 0 { broker.disconnect(peer) }
            peers.removeAll { $0.phase == .closing }
        }
        for peer in peers { broker.disconnect(peer) }
        broker.expire(at: .seconds(10_000))
        #expect(broker.counters.peers == 0)
        #expect(broker.counters.subscriptions == 0)
        #expect(broker.counters.requestsInFlight == 0)
        #expect(!broker.hasRequests && broker.nextExpiry == nil)
    }
}
