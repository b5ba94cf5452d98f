import ParlorContracts
import ParlorEventLog
import ParlorGatewayCatalog
import ParlorGatewayPresence
import ParlorRoomViews
import ParlorServiceKit

/// Passes the entries of services' logs through these steps, in this order:
///
/// 1. Each entry becomes a `Broadcast`, whose events are framed once for all sockets of all loops, without those that its
///    service may not send (`Emitters`).
/// 2. Cached fields of messages and people, and cached lists of rooms that it concerns, become stale. This
///    precedes all events to clients: a client that requests the list because of the event must not get the
///    old one.
/// 3. The log's position is noted for the metrics.
/// 4. Typing ends for people who sent what they typed. This precedes the message, so that no one appears to
///    type after it.
/// 5. Every loop gets the entries. It sends them, buffers them for clients that reconnect, and releases the
///    acks that wait for them.
///
/// All of it runs on the directory's loop, which is also the loop of `Presence`.
package final class LogPipeline: LogReceiver {
    private let cache: RoomListCache
    private let fields: FieldCache
    private let metrics: DeliveryMetrics
    private let presence: Presence
    private let missed: EntryFetcher
    private let sink: any BroadcastSink
    private let log: Logger

    package convenience init(
        to fanout: Fanout, cache: RoomListCache, fields: FieldCache, presence: Presence, missed: EntryFetcher,
        metrics: DeliveryMetrics, log: Logger
    ) {
        self.init(
            sink: fanout, cache: cache, fields: fields, presence: presence, missed: missed, metrics: metrics, log: log)
    }

    init(
        sink: any BroadcastSink, cache: RoomListCache, fields: FieldCache, presence: Presence, missed: EntryFetcher,
        metrics: DeliveryMetrics, log: Logger
    ) {
        self.sink = sink
        self.cache = cache
        self.fields = fields
        self.presence = presence
        self.missed = missed
        self.metrics = metrics
        self.log = log
    }

    /// Begins to pass on a log's entries, after this position. Caches and loops learn of the start before the first
    /// `receive`. Then the entries just before the position are fetched. So if a restart of this gateway disconnected
    /// clients, they are caught up from memory.
    package func start(_ logID: LogID, after position: LogPosition) {
        fields.start(logID, after: position)
        cache.start(logID, after: position)
        metrics.note(position.seq, of: logID)
        sink.start(logID, after: position)
        Task {
            let newest = await missed.newest(
                of: logID, to: position, maxCount: ReplayBuffer.generationSize, maxBytes: ReplayBuffer.generationBytes)
            guard let newest else { return }
            let sending = missed.emitters.filter(of: logID.service)
            let broadcasts = newest.entries.map { Broadcast($0, of: logID, sending: sending) }
            sink.backfill(logID, broadcasts, from: newest.start, to: position)
        }
    }

    /// Ends a log because its service was removed. The caches keep the log's position. Lists composed from now on lack
    /// the service's fields. If the service returns, `start` drops these lists.
    package func end(_ logID: LogID) { sink.end(logID) }

    package func receive(_ entries: [LogEntry], of logID: LogID) {
        let sending = missed.emitters.filter(of: logID.service)
        let broadcasts = entries.map { Broadcast($0, of: logID, sending: sending) }
        // Update the fields before the list cache, which knows how far the log is followed.
        fields.note(entries, of: logID)
        cache.note(entries, of: logID)
        if let last = entries.last { metrics.note(last.seq, of: logID) }
        for (entry, broadcast) in zip(entries, broadcasts) {
            log.debug("fanned out", ["request": entry.requestID ?? "", "log": logID.name, "seq": entry.seq])
            presence.onLoop { presence in
                // Events are not decoded for it unless somebody types here.
                guard presence.isTyping(in: entry.roomID),
                    let userID = broadcast.endsTypingOf
                else { return }
                presence.endTyping(RoomMember(roomID: entry.roomID, userID: userID))
            }
        }
        sink.deliver(broadcasts)
    }
}
