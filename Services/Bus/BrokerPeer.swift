import MessageBus

/// One connection as the broker sees it.
final class BrokerPeer {
    enum Phase {
        /// It has not sent its hello.
        case new
        case open
        /// It closes once its output is written; its input is ignored.
        case closing
    }

    struct Held {
        let id: UInt64
        let isServing: Bool
    }

    /// Never used again. To a key, it is the instance that a queue group's member lives in.
    let id: UInt64
    var phase = Phase.new
    var name = ""
    /// nil: all.
    var rights: BrokerRights?
    let connectedAt: Duration
    var lastReceivedAt: Duration
    var lastPinged: Duration
    /// By the numbers the peer gave them.
    var subscriptions: [UInt64: Held] = [:]
    var requestsUnderWay = 0

    /// Whole lines that wait to be handed over.
    private(set) var outbox: [UInt8] = []
    /// The bytes that were handed over and that the kernel has not taken.
    var handedOver = 0
    var isReady = false

    /// The route of its last event: publishers often use the same subject again.
    var lastRoute: BrokerRoute?

    init(id: UInt64, at now: Duration) {
        self.id = id
        connectedAt = now
        lastReceivedAt = now
        lastPinged = now
    }

    var pendingBytes: Int { outbox.count + handedOver }

    func append(_ write: (inout [UInt8]) -> Void) { write(&outbox) }

    func takeOutbox() -> [UInt8] {
        let taken = outbox
        outbox = []
        // What one turn brought is what the next may bring.
        if phase != .closing { outbox.reserveCapacity(min(taken.count, 64 * 1024)) }
        return taken
    }

    /// Lines not yet handed over are lost; none is cut in the middle.
    func dropOutbox() { outbox = [] }
}

/// A request under way.
struct BrokerRequest {
    let requester: BrokerPeer
    /// The requester's number for it.
    let id: UInt64
    let responder: BrokerPeer
}
