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

    /// Returns the position that all loops have reached in a log; nil if one does not follow it.
    func position(of logID: LogID) async -> LogPosition? {
        var positions: [LogPosition] = []
        for delivery in loops {
            guard let position = await delivery.position(of: logID) else { return nil }
            positions.append(position)
        }
        return positions.min { $0.seq < $1.seq }
    }

    /// Returns true once every loop knows the changes of rooms' people from before it followed Rooms' log.
    func areCaughtUp() async -> Bool {
        for delivery in loops where await !delivery.isCaughtUp { return false }
        return true
    }

    /// Waits until `areCaughtUp`, if Rooms' log is followed; no longer than the limit.
    package func settle(within limit: Duration) async {
        let end = LoopInstant.now() + limit
        while await position(of: .rooms) != nil, await !areCaughtUp(), .now() < end, !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(2))  // cancelled: the loop ends
        }
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
