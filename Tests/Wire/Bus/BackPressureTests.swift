import ParlorMessageBus
import ParlorReactor
import ParlorTestSupport
import ParlorWorkers
import Testing

@testable import ParlorBus

/// The broker without sockets, with a clock that the test advances.
@Suite("Back-pressure on the bus", .timeLimit(.minutes(1)))
struct BackPressureTests {
    private let broker: Broker
    private let receiver: BrokerPeer
    private let sender: BrokerPeer
    private let other: BrokerPeer

    init() {
        var settings = BrokerSettings()
        settings.maxUnsentBytes = 80_000
        broker = Broker(settings: settings)
        (receiver, sender, other) = (broker.connect(at: .zero), broker.connect(at: .zero), broker.connect(at: .zero))
        for peer in [receiver, sender, other] { send(peer, #"{"op":"hello","version":1}"#) }
        send(receiver, #"{"op":"sub","id":1,"subject":"a"}"#)
        send(receiver, #"{"op":"serve","id":2,"subject":"b","queue":"q"}"#)
        _ = receiver.takeOutbox()
    }

    private func send(_ peer: BrokerPeer, _ line: String, at now: Duration = .zero) {
        Array(line.utf8).withUnsafeBytes { broker.receive($0, from: peer, at: now) }
    }

    private func publish(_ bytes: Int, by peer: BrokerPeer, at now: Duration = .zero) {
        send(peer, #"{"op":"pub","subject":"a","data":"\#(String(repeating: "x", count: bytes))"}"#, at: now)
    }

    @Test("a sender waits once it has queued an eighth for a receiver that is behind, and goes on when that has read")
    func waits() {
        receiver.handedOver = 1
        publish(9000, by: sender)
        #expect(sender.waitsFor == 0)
        publish(2000, by: sender)
        publish(100, by: other)
        #expect(sender.waitsFor == 1 && other.waitsFor == 0)
        #expect(broker.backPressure.takeResumed().isEmpty)
        broker.backPressure.noteDrained(receiver)
        #expect(broker.backPressure.takeResumed().map(\.id) == [sender.id])
        #expect(sender.waitsFor == 0 && broker.nextExpiry == nil)
        #expect(broker.counters.holds == 1)
    }

    @Test("nobody waits for a receiver that keeps up, however much it gets")
    func keepsUp() {
        for _ in 0..<100 {
            receiver.handedOver = 1
            publish(2000, by: sender)
            // As the host does when the kernel has taken everything.
            receiver.handedOver = 0
            broker.backPressure.noteDrained(receiver)
            _ = receiver.takeOutbox()
        }
        #expect(sender.waitsFor == 0 && broker.counters.holds == 0)
    }

    @Test("requests count like events")
    func requests() {
        receiver.handedOver = 1
        for id in 0..<6 {
            send(sender, #"{"op":"req","id":\#(id),"subject":"b","data":"\#(String(repeating: "x", count: 2000))"}"#)
        }
        #expect(sender.waitsFor == 1)
    }

    @Test("a sender waits for a receiver that reads too slowly once, and not longer than the limit")
    func readsNothing() {
        receiver.handedOver = 1
        publish(11_000, by: sender, at: .seconds(1))
        #expect(broker.nextExpiry == .milliseconds(1250))
        broker.expire(at: .milliseconds(1249))
        #expect(broker.backPressure.takeResumed().isEmpty)
        broker.expire(at: .milliseconds(1250))
        #expect(broker.backPressure.takeResumed().map(\.id) == [sender.id])
        broker.backPressure.noteDrained(receiver)
        publish(11_000, by: sender, at: .seconds(2))
        #expect(sender.waitsFor == 0)
        for _ in 0..<6 { publish(11_000, by: sender, at: .seconds(2)) }
        #expect(receiver.phase == .closing, "it is too far behind")
    }

    @Test("what a receiver has read since the last flush does not count against it")
    func hasRead() {
        receiver.handedOver = 79_000
        receiver.countHandedOver = { 10_000 }
        publish(5000, by: sender)
        #expect(receiver.phase == .open && receiver.handedOver == 10_000)
        receiver.countHandedOver = { 79_000 }
        for _ in 0..<5 { publish(11_000, by: other, at: .seconds(1)) }
        #expect(receiver.phase == .open, "it was not counted again, as it was below the limit")
        publish(11_000, by: other, at: .seconds(1))
        #expect(receiver.phase == .closing)
    }

    @Test("a sender goes on when the receiver is gone")
    func receiverGone() {
        receiver.handedOver = 1
        publish(11_000, by: sender)
        broker.disconnect(receiver)
        #expect(broker.backPressure.takeResumed().map(\.id) == [sender.id])
        #expect(broker.nextExpiry == nil)
    }

    @Test("a flood waits in its sender: the receiver stays, and gets all of it in order")
    func flood() async throws {
        var settings = BrokerSettings()
        settings.maxUnsentBytes = 512 * 1024
        settings.maxHold = .seconds(60)
        let server = try await BusServer.start(host: "127.0.0.1", port: 0, settings: settings)
        let count = 20_000
        let receiver = try RawClient(port: server.port, receiveBuffer: 4096)
        try receiver.sendHello()
        try receiver.send(line: #"{"op":"sub","id":1,"subject":"flood"}"#)
        try receiver.settle()
        let padding = String(repeating: "x", count: 1000)
        let workers = WorkerPool(threads: 1, maxWaiting: 1)
        let sending = Task {
            try await workers.run {
                let sender = try RawClient(port: server.port)
                try sender.sendHello()
                for number in 0..<count {
                    try sender.send(line: #"{"op":"pub","subject":"flood","data":[\#(number),"\#(padding)"]}"#)
                }
            }
        }
        // Nothing is read before the sender waits.
        while server.counters.holds == 0 { await Task.yield() }
        for number in 0..<count {
            let line = try receiver.receiveLine()
            #expect(line?.hasPrefix(#"{"op":"msg","sub":1,"subject":"flood","data":[\#(number),"#) == true)
            if line == nil { break }
        }
        try await sending.value
        #expect(server.counters.slowConsumers == 0)
        await workers.close()
        await server.drain(timeout: .zero, grace: .zero)
    }
}
