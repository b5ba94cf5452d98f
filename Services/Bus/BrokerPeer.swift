import ParlorMessageBus
import ParlorServiceKit

/// A connection in the broker.
final class BrokerPeer {
    enum Phase {
        /// The peer has not sent its hello.
        case new
        case open
        /// The connection closes once its output is written; its input is ignored.
        case closing
    }

    struct Held {
        let id: UInt64
        let isServing: Bool
    }

    /// The id, which is never reused. A request with a key chooses a queue group's member by a hash of key and id.
    let id: UInt64
    var phase = Phase.new
    var name = ""
    var token = ""
    /// The peer's row in the table of peers, and its rights; nil if it has all rights.
    var known: BusPeer?
    var rights: BrokerRights?
    let connectedAt: Duration
    var lastReceivedAt: Duration
    var lastPinged: Duration
    /// The subscriptions by the numbers that the peer chose.
    var subscriptions: [UInt64: Held] = [:]
    var requestsInFlight = 0

    /// Whole lines that wait to be written.
    private(set) var outbox: [UInt8] = []
    /// The bytes that were handed to the channel and that the kernel had not taken at the last count.
    var handedOver = 0
    /// Counts `handedOver`.
    var countHandedOver: (() -> Int)?
    var isReady = false

    /// As a receiver: what was queued since the kernel last took all of its output.
    var backlog = Backlog()
    /// As a receiver: the time before which no sender waits for it.
    var noHoldBefore: Duration = .zero
    /// As a sender: the number of receivers that it waits for, and one more while it waits because of its rate.
    var waitsFor = 0

    /// As a sender: the time until which its rate allows what it has sent.
    private var paidUntil: Duration = .zero

    /// The route of its last event: publishers often reuse a subject.
    var lastRoute: BrokerRoute?

    init(id: UInt64, at now: Duration) {
        self.id = id
        connectedAt = now
        lastReceivedAt = now
        lastPinged = now
    }

    /// Checks a right. Without it the peer stays connected, as a service that lacks one right still serves everything
    /// else. On a bus without a table of peers, every peer has all rights.
    func check(_ operation: BusRights.Operation, on subject: String) throws(BrokerRefusal) {
        guard let rights, !rights.allow(operation, on: subject) else { return }
        throw forbidden(operation, on: subject, "\(operation) `\(subject)`")
    }

    /// Checks that the peer may share a subject's events in a queue group. Each event goes to one member, so a group
    /// belongs to its own service: a member of another service would take some of its events.
    func checkSharing(_ pattern: String, as queue: String) throws(BrokerRefusal) {
        guard rights != nil, queue != name else { return }
        throw forbidden(.subscribe, on: pattern, "share `\(pattern)` as `\(queue)`")
    }

    private func forbidden(_ operation: BusRights.Operation, on subject: String, _ what: String) -> BrokerRefusal {
        .forbidden(operation, subject: subject, message: "`\(name)` may not \(what)")
    }

    /// Counts a line against its rate, if it has one.
    func charge(for bytes: Int, at now: Duration) {
        guard let rate = known?.rate else { return }
        paidUntil = max(paidUntil, now) + .seconds(1) * (1 + bytes / 1024) / rate
    }

    /// Returns the time by which it has exceeded its rate, beyond a burst; nil if it has not.
    func excess(over burst: Duration, at now: Duration) -> Duration? {
        let excess = paidUntil - now - burst
        return excess > .zero ? excess : nil
    }

    /// Returns true if more bytes than this wait for the peer. If so, it first counts `handedOver` again, as the peer
    /// may have read since the last flush.
    func hasUnsent(moreThan limit: Int) -> Bool {
        guard outbox.count + handedOver > limit else { return false }
        if let countHandedOver { handedOver = countHandedOver() }
        return outbox.count + handedOver > limit
    }

    func append(_ write: (inout [UInt8]) -> Void) { write(&outbox) }

    func takeOutbox() -> [UInt8] {
        let taken = outbox
        outbox = []
        // The next turn may have as much output as this one.
        if phase != .closing { outbox.reserveCapacity(min(taken.count, 64 * 1024)) }
        return taken
    }

    /// Drops the lines that were not written; none is cut in the middle.
    func dropOutbox() { outbox = [] }
}

/// A request in progress.
struct BrokerRequest {
    let requester: BrokerPeer
    /// The requester's number for the request.
    let id: UInt64
    let responder: BrokerPeer
}
