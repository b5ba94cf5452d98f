import ParlorReactor
import TestClients

/// Events from one publisher to one subscriber, at the highest rate with a fixed number in flight
/// and in each write.
struct BusStream {
    let broker: ServerAddress
    let encoder: BusEncoder
    let eventsInAWrite: Int

    /// The limit of events in flight. It is above the largest write, and low enough that the
    /// subscriber does not become a slow reader.
    private static let window = 1024
    private static let warmUp: Duration = .milliseconds(300)

    /// - Returns: events received per second, and the faults.
    func run(for duration: Duration) throws -> (rate: Double, faults: [String]) {
        let subscriber = try BusLink(to: broker, encoder, sending: encoder.subscription)
        let publisher = try BusLink(to: broker, encoder)
        defer {
            subscriber.close()
            publisher.close()
        }
        var outgoing = Outgoing(encoder, count: eventsInAWrite)
        var receiver = BusReceiver(encoder)
        var isOver = false
        /// Sends until the time is over; then waits until everything was received.
        func go(until end: LoopInstant) throws {
            while isOver ? receiver.received < outgoing.begun : LoopInstant.now() < end, receiver.failure == nil {
                if outgoing.isWritten, !isOver, outgoing.begun - receiver.received + eventsInAWrite <= Self.window {
                    outgoing.begin()
                }
                if !outgoing.isWritten { try outgoing.write(to: publisher) }
                try subscriber.receive(
                    waiting: outgoing.isWritten && outgoing.begun - receiver.received > Self.window / 2)
                subscriber.take { receiver.take($0) }
                while receiver.pings > 0 {
                    try subscriber.send(encoder.pong)
                    receiver.pings -= 1
                }
            }
        }
        try go(until: LoopInstant.now() + Self.warmUp)
        let (start, before) = (LoopInstant.now(), receiver.received)
        try go(until: start + duration)
        let rate = Double(receiver.received - before) / ((LoopInstant.now() - start) / .seconds(1))
        isOver = true
        try go(until: start)
        return (rate, receiver.faults)
    }

    /// One write's events, renumbered for each write.
    private struct Outgoing {
        private(set) var begun = 0
        private var bytes: [UInt8]
        private var written: Int
        private let offsets: [Int]

        init(_ encoder: BusEncoder, count: Int) {
            let event = Array(encoder.publication(of: BusReceiver.payload(0)).utf8)
            let payload = Array(BusReceiver.payload(0).utf8)
            let offset = event.indices.first { event[$0...].starts(with: payload) } ?? 0
            bytes = Array(repeatElement(event, count: count).joined())
            offsets = (0..<count).map { $0 * event.count + offset }
            written = bytes.count
        }

        var isWritten: Bool { written == bytes.count }

        mutating func begin() {
            for offset in offsets {
                var number = begun
                for digit in stride(from: offset + BusReceiver.digits - 1, through: offset, by: -1) {
                    bytes[digit] = UInt8(ascii: "0") + UInt8(number % 10)
                    number /= 10
                }
                begun += 1
            }
            written = 0
        }

        mutating func write(to link: BusLink) throws { written += try link.write(bytes, from: written) }
    }
}
