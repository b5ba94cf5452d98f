import ParlorContracts
import ParlorEventLog
import ParlorGatewayCatalog
import ParlorJSON
import ParlorServiceKit
import Synchronization

/// Caches services' fields of messages and people, as each person sees them.
///
/// A value is current until its service's log has an entry with the fact `fieldsChanged` that names the object. Old
/// values are kept for outages of their service. At a gap in a log, or if the log was replaced, all values of its
/// service are dropped. The least recently used values are evicted first.
package final class FieldCache: Sendable {
    /// The bytes of a generation; there are two.
    package static let generationBytes = 8 << 20
    /// The limit of changed objects that are remembered for a service, which take some megabytes. Above it, all of
    /// the service's values become old.
    static let maxChanged = 32_768
    /// The limit of an object's id in bytes. An object with a longer one is not cached.
    static let maxIDBytes = 128

    package typealias Source = Catalog.Contributor.Source

    /// A message or person.
    private struct Object: Hashable, Sendable {
        let kind: ShownObject
        let id: String
    }

    private struct Key: Hashable, Sendable {
        let source: Source
        let object: Object
        let viewer: String
    }

    /// How far a service's log was followed when the service was asked.
    struct Moment: Sendable {
        /// Counts the gaps and replacements of the log.
        fileprivate let epoch: Int
        fileprivate let seq: Int
    }

    struct Value: Sendable {
        let json: JSONValue
        let isCurrent: Bool
    }

    private struct Stored: Sendable {
        let json: JSONValue
        let epoch: Int
        /// All changes up to this entry are in the value; nil if the log does not record every change.
        let seq: Int?
    }

    private typealias ChangedFields = (messageIDs: [String], personIDs: [String])

    private struct Log: Sendable {
        var epoch = 0
        /// The last entry that was followed. Its changes are noted only once the service was asked.
        var seq: Int
        /// The last entry that names each object, among those after `noted`.
        var changed: [Object: Int] = [:]
        /// Any object may have changed in entries up to this one. It is `Int.max` until the service is asked.
        var noted = Int.max

        func isCurrent(_ stored: Stored, _ object: Object) -> Bool {
            guard let seq = stored.seq else { return false }
            return seq >= noted && seq >= changed[object, default: 0]
        }

        /// - Parameter facts: those of the entries; nil if they were not read.
        mutating func note(_ entries: [LogEntry], _ facts: [ChangedFields?]?) {
            for (index, entry) in entries.enumerated() {
                // The missing entries were pruned at the owner.
                if entry.seq != seq + 1 { self = Log(epoch: epoch + 1, seq: entry.seq - 1) }
                seq = entry.seq
                guard noted != .max else { continue }
                if let facts { noteChanges(facts[index], in: entry.seq) } else { makeAllOld(at: entry.seq) }
            }
        }

        private mutating func noteChanges(_ fact: ChangedFields?, in seq: Int) {
            guard let (messageIDs, personIDs) = fact else { return }
            guard (messageIDs + personIDs).allSatisfy({ $0.utf8.count <= maxIDBytes }) else {
                return makeAllOld(at: seq)
            }
            for id in messageIDs { changed[Object(kind: .messages, id: id)] = seq }
            for id in personIDs { changed[Object(kind: .people, id: id)] = seq }
            if changed.count > maxChanged { makeAllOld(at: seq) }
        }

        private mutating func makeAllOld(at seq: Int) { (changed, noted) = ([:], seq) }
    }

    private struct State {
        var values: Generations<Key, Stored>
        var logs: [LogID: Log] = [:]
    }

    private let state: Mutex<State>

    package init(generationBytes: Int = FieldCache.generationBytes) {
        // The memory of a key's strings and of its place in the table.
        let overhead = 512
        state = Mutex(State(values: Generations(maxBytes: generationBytes) { $0.json.bytes.count + overhead }))
    }

    /// The size of all values, in bytes.
    package var size: Int { state.withLock { $0.values.bytes } }

    // MARK: Log entries

    /// Starts to follow a log after this position: earlier entries were not seen, or belonged to a log that was
    /// replaced.
    package func start(_ logID: LogID, after position: LogPosition) {
        state.withLock { state in
            let epoch = state.logs[logID].map { $0.epoch + 1 } ?? 0
            state.logs[logID] = Log(epoch: epoch, seq: position.seq)
        }
    }

    /// Notes the changes in a log's entries. To be called before the log's new position is known to anybody, and before
    /// any client is sent the entries' events.
    package func note(_ entries: [LogEntry], of logID: LogID) {
        // Most services have no cached values. Facts take time to read, so they are not read while others wait for
        // the lock.
        let isNoted = state.withLock { state in
            guard let log = state.logs[logID] else { return false }
            if log.noted == .max { state.logs[logID]?.note(entries, nil) }
            return log.noted != .max
        }
        guard isNoted else { return }
        let facts = entries.map { $0.fact?.fieldsChanged }
        state.withLock { $0.logs[logID]?.note(entries, facts) }
    }

    // MARK: Values

    /// Returns how far a log is followed; nil if it is not followed. Call it before its service is
    /// asked: from then on, the changes in the log's entries are noted.
    func moment(of logID: LogID) -> Moment? {
        state.withLock { state in
            guard var log = state.logs[logID] else { return nil }
            if log.noted == .max {
                log.noted = log.seq
                state.logs[logID] = log
            }
            return Moment(epoch: log.epoch, seq: log.seq)
        }
    }

    /// Returns a service's values of these objects as a person sees them; nil for each unknown one.
    func values(of kind: ShownObject, _ ids: [String], by source: Source, for viewer: String) -> [Value?] {
        state.withLock { state in
            let log = state.logs[source.log]
            return ids.map { id in
                let object = Object(kind: kind, id: id)
                guard let stored = state.values.use(Key(source: source, object: object, viewer: viewer)),
                    stored.epoch == log?.epoch ?? 0
                else { return nil }
                return Value(json: stored.json, isCurrent: log?.isCurrent(stored, object) ?? false)
            }
        }
    }

    /// Stores a service's reply.
    ///
    /// - Parameter moment: the result of `moment(of:)` from before the request; nil if the service's log does not
    ///   record every change. Then the values are for outages only.
    func put(
        _ values: [JSONValue], of kind: ShownObject, _ ids: [String], by source: Source, for viewer: String,
        asOf moment: Moment?
    ) {
        // A slice of the reply would keep all of it in memory.
        let values = values.map(\.detached)
        state.withLock { state in
            let epoch = state.logs[source.log]?.epoch ?? 0
            guard moment == nil || moment?.epoch == epoch else { return }
            for (id, json) in zip(ids, values) where id.utf8.count <= Self.maxIDBytes {
                let key = Key(source: source, object: Object(kind: kind, id: id), viewer: viewer)
                state.values.put(Stored(json: json, epoch: epoch, seq: moment?.seq), for: key)
            }
        }
    }
}
