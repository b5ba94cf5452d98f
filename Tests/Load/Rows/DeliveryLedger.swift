/// The `message:new` events of one room that one socket received, by `seq`. The room was new when
/// the socket joined it.
///
/// A room counts its messages from 1 without gaps, and this counts how often each arrived.
struct DeliveryLedger {
    private(set) var delivered = 0
    private(set) var doubled = 0
    private(set) var outOfOrder = 0
    /// The number of acks that preceded their own echo.
    private(set) var lateEchoes = 0

    private var received: [Bool] = []
    private var last = 0

    mutating func receive(_ seq: Int) {
        if hasReceived(seq) {
            doubled += 1
            return
        }
        delivered += 1
        if seq < last { outOfOrder += 1 }
        last = max(last, seq)
        if seq >= received.count {
            received += Array(repeating: false, count: max(seq + 1 - received.count, received.count + 64))
        }
        received[seq] = true
    }

    /// Records the sender's own ack.
    mutating func acknowledge(_ seq: Int) {
        if !hasReceived(seq) { lateEchoes += 1 }
    }

    /// Returns the faults, if `sent` messages were acknowledged in the room.
    func faults(sent: Int) -> [String] {
        [
            ("lost", max(sent - delivered, 0)), ("never acknowledged", max(delivered - sent, 0)), ("doubled", doubled),
            ("out of order", outOfOrder),
            ("acknowledged before the echo", lateEchoes),
        ].filter { $0.1 != 0 }.map { "\($0.1) \($0.0)" }
    }

    private func hasReceived(_ seq: Int) -> Bool { received.indices.contains(seq) && received[seq] }
}
