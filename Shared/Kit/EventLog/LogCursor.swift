/// A follower's position in a log, and the entries that arrived too early. It only decides; the follower
/// acts.
struct LogCursor {
    /// The last entry delivered; nil until the start is known.
    private(set) var last: Int?
    /// The entries that wait for an earlier one, by seq.
    private var early: [Int: LogEntry] = [:]
    private var earlyBytes = 0
    /// The highest seq that is known to exist, even if its entry was not kept.
    private(set) var highest = Int.min

    /// The limits of early entries and of their bytes. Others are not kept, but fetched with the missing ones.
    /// The limits are those of a page: all early entries are delivered in one turn, and clients must be able to receive
    /// that much at once.
    static let maxEarly = LogQuery.maxEntries
    static let maxEarlyBytes = LogQuery.maxBytes

    /// True if entries are known to exist that were not delivered. False before the start.
    var isBehind: Bool { last.map { $0 < highest } ?? false }

    /// Starts at a position, and returns the early entries that follow it.
    mutating func start(at seq: Int) -> [LogEntry] {
        last = seq
        for passed in early.keys where passed <= seq { _ = take(passed) }
        return takeReady()
    }

    /// Restarts at a position of another log, and drops the early entries of the previous one.
    mutating func restart(at seq: Int) {
        self = LogCursor()
        last = seq
    }

    /// Notes that an entry exists.
    mutating func expect(_ seq: Int) { highest = max(highest, seq) }

    /// Notes that no later entry exists, whatever was expected.
    mutating func settle(at seq: Int) { highest = max(last ?? .min, seq) }

    /// Receives an entry from the bus or from the owner, and returns the entries that can be delivered now,
    /// in order. Entries that were delivered before are skipped.
    mutating func receive(_ entry: LogEntry) -> [LogEntry] {
        expect(entry.seq)
        guard let last else {
            keep(entry)
            return []
        }
        if entry.seq <= last { return [] }
        // The next entry never counts as early: otherwise it could not pass when too many are kept.
        guard entry.seq == last + 1 else {
            keep(entry)
            return []
        }
        self.last = entry.seq
        return early.isEmpty ? [entry] : [entry] + takeReady()
    }

    /// Skips entries that the owner no longer has. Returns those of them that arrived early, and the early entries that
    /// follow them.
    mutating func skip(to seq: Int) -> [LogEntry] {
        guard let last, seq > last else { return [] }
        let kept = early.keys.filter { $0 <= seq }.sorted().compactMap { take($0) }
        self.last = seq
        return kept + takeReady()
    }

    private mutating func keep(_ entry: LogEntry) {
        guard early[entry.seq] == nil, early.count < Self.maxEarly, earlyBytes + entry.size <= Self.maxEarlyBytes else {
            return
        }
        early[entry.seq] = entry
        earlyBytes += entry.size
    }

    private mutating func take(_ seq: Int) -> LogEntry? {
        guard let entry = early.removeValue(forKey: seq) else { return nil }
        earlyBytes -= entry.size
        return entry
    }

    private mutating func takeReady() -> [LogEntry] {
        var ready: [LogEntry] = []
        while let at = last, let next = take(at + 1) {
            ready.append(next)
            last = next.seq
        }
        return ready
    }
}

extension LogEntry {
    /// The approximate size: its emissions, ids and a few words.
    fileprivate var size: Int { emissionsJSON.bytes.count + 256 }
}
