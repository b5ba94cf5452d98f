/// A follower's position in a log, and the entries that arrived too early. Pure: it decides, the
/// follower acts.
struct LogCursor {
    /// The last entry handed on; nil until it is known where to start.
    private(set) var last: Int?
    /// Entries that wait for one before them, by seq.
    private var early: [Int: LogEntry] = [:]
    private var earlyBytes = 0
    /// The highest seq that is known to exist, be it of an entry that was not kept.
    private(set) var highest = Int.min

    /// More early entries than this, or more bytes of them, are not kept: they are fetched with what is missing.
    static let maxEarly = 4096
    static let maxEarlyBytes = 8 << 20

    /// True if entries are known to exist that were not delivered. Never before the start.
    var isBehind: Bool { last.map { $0 < highest } ?? false }

    /// Starts at a position, and gives what came early and follows it.
    mutating func start(at seq: Int) -> [LogEntry] {
        last = seq
        for passed in early.keys where passed <= seq { _ = take(passed) }
        return takeReady()
    }

    /// Starts at a position of another log: what came early was of the one before.
    mutating func restart(at seq: Int) {
        self = LogCursor()
        last = seq
    }

    /// Notes that an entry exists.
    mutating func expect(_ seq: Int) { highest = max(highest, seq) }

    /// Notes that there is no entry beyond this one, whatever was expected.
    mutating func settle(at seq: Int) { highest = max(last ?? .min, seq) }

    /// Takes an entry from the bus or from the owner, and gives what can be handed on now, in order. What was seen is skipped.
    mutating func receive(_ entry: LogEntry) -> [LogEntry] {
        expect(entry.seq)
        guard let last else {
            keep(entry)
            return []
        }
        if entry.seq <= last { return [] }
        // The one that is waited for is never among the kept: or it could not pass when those are too many.
        guard entry.seq == last &+ 1 else {
            keep(entry)
            return []
        }
        self.last = entry.seq
        return early.isEmpty ? [entry] : [entry] + takeReady()
    }

    /// Goes on past entries that the owner no longer has, and gives those of them that came early.
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
        while let at = last, let next = take(at &+ 1) {
            ready.append(next)
            last = next.seq
        }
        return ready
    }
}

extension LogEntry {
    /// Roughly: its emissions, ids and a few words.
    fileprivate var size: Int { emissionsJSON.bytes.count + 256 }
}
