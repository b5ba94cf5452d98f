/// Requests that wait for their replies, each until its deadline.
///
/// Deadlines are kept in buckets of ten milliseconds, so that adding and taking cost the same however many wait; what
/// was answered leaves only its number in the bucket. Times are `Duration`s since a start of the owner's choosing.
package struct PendingRequests<Entry> {
    private var entries: [UInt64: Entry] = [:]
    private var buckets: [Int64: [UInt64]] = [:]
    private var lastID: UInt64 = 0

    /// How late a deadline may be noticed, and how often `expire` is worth calling.
    package static var tick: Duration { .milliseconds(10) }

    package init() {}

    package var count: Int { entries.count }
    package var isEmpty: Bool { entries.isEmpty }
    /// Whether `expire` has anything to look at, if only the numbers of what was answered.
    package var hasDeadlines: Bool { !buckets.isEmpty }

    /// - Returns: its number, which is never used again.
    package mutating func insert(_ entry: Entry, deadline: Duration) -> UInt64 {
        lastID += 1
        entries[lastID] = entry
        buckets[Self.bucket(of: deadline) + 1, default: []].append(lastID)
        return lastID
    }

    package subscript(id: UInt64) -> Entry? { entries[id] }

    /// Changes one that still waits.
    mutating func update(_ id: UInt64, _ change: (inout Entry) -> Void) {
        guard var entry = entries[id] else { return }
        change(&entry)
        entries[id] = entry
    }

    /// nil if it was taken or has expired.
    package mutating func take(_ id: UInt64) -> Entry? { entries.removeValue(forKey: id) }

    /// Takes all whose deadline has passed, in the order they were added.
    package mutating func expire(at now: Duration) -> [Entry] {
        guard !buckets.isEmpty else { return [] }
        let current = Self.bucket(of: now)
        let past = buckets.keys.filter { $0 <= current }
        return past.flatMap { buckets.removeValue(forKey: $0) ?? [] }.sorted().compactMap { take($0) }
    }

    /// Takes all that fit, in the order they were added.
    package mutating func takeAll(where fits: (Entry) -> Bool = { _ in true }) -> [Entry] {
        let ids = entries.filter { fits($0.value) }.keys.sorted()
        return ids.compactMap { take($0) }
    }

    private static func bucket(of time: Duration) -> Int64 {
        let (seconds, attoseconds) = time.components
        // Beyond any real deadline; keeps the sum from overflowing on a peer's number.
        let whole = min(max(seconds, -1 << 40), 1 << 40)
        return whole * 100 + attoseconds / 10_000_000_000_000_000
    }
}
