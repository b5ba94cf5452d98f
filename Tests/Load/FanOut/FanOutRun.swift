import ParlorReactor
import TestClients

/// Messages to an audience: at the highest rate with a few in flight, then at a steady rate.
final class FanOutRun {
    private let audience: FanOutAudience
    private let loop: EventLoop
    private let send: (Int) -> Void
    private(set) var sent = 0

    /// - Parameter send: sends the message with this number.
    init(_ audience: FanOutAudience, on loop: EventLoop, send: @escaping (Int) -> Void) {
        self.audience = audience
        self.loop = loop
        self.send = send
    }

    private static let warmUp: Duration = .seconds(1)

    /// - Parameter inFlight: the number of messages that some of the sockets have not received yet.
    /// - Returns: deliveries per second.
    func deliveriesPerSecond(inFlight: Int, for duration: Duration) async -> Double {
        var isOver = false
        audience.onReceivedByAll = { [self] _ in if !isOver { sendNext() } }
        for _ in 0..<inFlight { sendNext() }
        await loop.pause(Self.warmUp)
        let (start, before) = (LoopInstant.now(), audience.deliveries)
        await loop.pause(duration)
        let rate = Double(audience.deliveries - before) / ((LoopInstant.now() - start) / .seconds(1))
        isOver = true
        await audience.receivedAll(sent, on: loop)
        return rate
    }

    /// - Returns: the time from when each message should have been sent to each of its deliveries.
    func latencies(messagesPerSecond rate: Double, for duration: Duration) async -> Latencies {
        var latencies = Latencies()
        let (first, start) = (sent, LoopInstant.now())
        let interval: Duration = .seconds(1) / rate
        audience.onReceivedByAll = nil
        audience.onReceived = { number in
            if number >= first { latencies.record(since: start + interval * Double(number - first)) }
        }
        let count = max(Int(duration / interval), 1)
        for number in 0..<count {
            let due = start + interval * Double(number)
            let now = LoopInstant.now()
            if due > now { await loop.pause(due - now) }
            sendNext()
        }
        await audience.receivedAll(sent, on: loop)
        audience.onReceived = nil
        return latencies
    }

    private func sendNext() {
        sent += 1
        send(sent - 1)
    }
}
