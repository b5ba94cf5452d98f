import Contracts

/// Where a consumer stands in a stream, and what came too early for it. Pure: it decides, the follower acts.
struct StreamCursor {
    /// The last entry handed on; nil until it is known where to start.
    private(set) var last: Int?
    /// Entries that wait for one before them, by seq.
    private var early: [Int: StreamEntry] = [:]

    /// More than this many early entries are not kept: they are fetched with what is missing.
    static let maxEarly = 4096

    /// Whether something is known to exist that was not handed on.
    var isBehind: Bool { !early.isEmpty }

    /// Starts at a position, and gives what came early and follows it.
    mutating func start(at seq: Int) -> [StreamEntry] {
        last = seq
        early = early.filter { $0.key > seq }
        return takeReady()
    }

    /// Takes an entry from the bus or from the owner, and gives what can be handed on now, in order. What was seen is skipped.
    mutating func receive(_ entry: StreamEntry) -> [StreamEntry] {
        guard let last else {
            keep(entry)
            return []
        }
        if entry.seq <= last { return [] }
        if entry.seq == last + 1, early.isEmpty {
            self.last = entry.seq
            return [entry]
        }
        keep(entry)
        return takeReady()
    }

    private mutating func keep(_ entry: StreamEntry) {
        if early.count < Self.maxEarly { early[entry.seq] = entry }
    }

    private mutating func takeReady() -> [StreamEntry] {
        guard var at = last else { return [] }
        var ready: [StreamEntry] = []
        while let next = early.removeValue(forKey: at + 1) {
            ready.append(next)
            at += 1
        }
        last = at
        return ready
    }

    /// Goes on past entries that the owner no longer has.
    mutating func skip(to seq: Int) -> [StreamEntry] {
        guard let last, seq > last else { return [] }
        return start(at: seq)
    }
}
