import ParlorContracts
import ParlorEventLog
import ParlorGatewayPresence
import ParlorReactor
import Synchronization

/// Receives entries for the clients of every loop. Calls from one thread keep their order.
protocol BroadcastSink: Sendable {
    func start(_ logID: LogID, after position: LogPosition)
    func end(_ logID: LogID)
    func deliver(_ broadcasts: [Broadcast])
    func backfill(_ logID: LogID, _ entries: [Broadcast], from start: LogPosition, to end: LogPosition)
}

/// Passes everything to each loop's delivery: directly on the caller's loop, queued on the others.
package final class Fanout: BroadcastSink {
    private let all = Mutex<[LoopDelivery]>([])

    package init() {}

    /// The deliveries of all loops. Set before anything is delivered; emptied when the gateway has stopped.
    package var loops: [LoopDelivery] {
        get { all.withLock { $0 } }
        set { all.withLock { $0 = newValue } }
    }

    /// Returns true if every loop follows a log.
    func follows(_ logID: LogID) async -> Bool {
        for delivery in loops where await delivery.position(of: logID) == nil { return false }
        return true
    }

    func start(_ logID: LogID, after position: LogPosition) {
        for delivery in loops { delivery.enter { $0.start(logID, after: position) } }
    }

    func end(_ logID: LogID) {
        for delivery in loops { delivery.enter { $0.end(logID) } }
    }

    func deliver(_ broadcasts: [Broadcast]) {
        let deliver: @Sendable (isolated LoopDelivery) -> Void = { $0.deliver(broadcasts) }
        for delivery in loops { delivery.enter(deliver) }
    }

    func backfill(_ logID: LogID, _ entries: [Broadcast], from start: LogPosition, to end: LogPosition) {
        for delivery in loops { delivery.enter { $0.backfill(logID, entries, from: start, to: end) } }
    }

    /// Delivers a change of presence or typing.
    package func deliver(_ change: Presence.Change) {
        for delivery in loops { delivery.enter { $0.deliver(change) } }
    }
}
