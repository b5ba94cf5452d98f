import Contracts
import EventLog
import GatewayPresence
import Synchronization

/// Hands what is to be told to every shard, on its loop, in the order of the calls.
final class Fanout: Sendable {
    private let all = Mutex<[Shard]>([])

    /// Set once, before anything is delivered.
    var shards: [Shard] {
        get { all.withLock { $0 } }
        set { all.withLock { $0 = newValue } }
    }

    func deliver(_ broadcasts: [Broadcast]) {
        for shard in shards { shard.loop.execute { shard.assumeIsolated { $0.deliver(broadcasts) } } }
    }

    func start(_ stream: String, after place: LogPosition) {
        for shard in shards { shard.loop.execute { shard.assumeIsolated { $0.start(stream, after: place) } } }
    }

    func backfill(_ stream: String, _ entries: [Broadcast], from start: LogPosition, to end: LogPosition) {
        for shard in shards {
            shard.loop.execute { shard.assumeIsolated { $0.backfill(stream, entries, from: start, to: end) } }
        }
    }

    func deliver(_ change: Presence.Change) {
        for shard in shards { shard.loop.execute { shard.assumeIsolated { $0.deliver(change) } } }
    }
}
