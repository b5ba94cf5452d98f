/// Requests that wait for their replies, each until its deadline.
///
/// Deadlines are kept in buckets of ten milliseconds, so that adding and taking have the same cost however
/// many wait. A bucket is removed with its last request. Times are `Duration`s since a start that the owner
/// chooses.
package struct PendingRequests<Entry> {
    private var entries: [UInt64: (entry: Entry, bucket: Int64)] = [:]
    private var buckets: [Int64: Set<UInt64>] = [:]
    private var lastID: UInt64 = 0
    /// The lowest bucket that may exist.
    private var first: Int64?

    /// The size of a bucket, which is the maximum delay after a deadline if the owner is on time.
    private static var bucketMilliseconds: Int64 { 10 }

    package init() {}

    package var count: Int { entries.count }
    package var isEmpty: Bool { entries.isEmpty }

    /// The time at which `expire` must be called; an earlier call would take nothing. Taking requests does not move it.
    /// nil if the last `expire` left no request and none was added since.
    package var nextExpiry: Duration? { first.map { .milliseconds($0 * Self.bucketMilliseconds) } }

    /// Adds a request.
    ///
    /// - Returns: its number, which is never used again.
    package mutating func insert(_ entry: Entry, deadline: Duration) -> UInt64 {
        lastID += 1
        let bucket = Self.bucket(of: deadline) + 1
        entries[lastID] = (entry, bucket)
        buckets[bucket, default: []].insert(lastID)
        first = min(first ?? bucket, bucket)
        return lastID
    }

    package subscript(id: UInt64) -> Entry? { entries[id]?.entry }

    /// Changes a request that still waits.
    mutating func update(_ id: UInt64, _ change: (inout Entry) -> Void) {
        guard var held = entries[id] else { return }
        change(&held.entry)
        entries[id] = held
    }

    /// Takes a request; nil if it was taken or has expired.
    package mutating func take(_ id: UInt64) -> Entry? {
        guard let (entry, bucket) = entries.removeValue(forKey: id) else { return nil }
        buckets[bucket]?.remove(id)
        if buckets[bucket]?.isEmpty == true { buckets[bucket] = nil }
        return entry
    }

    /// Takes all requests whose deadline has passed, in the order they were added.
    package mutating func expire(at now: Duration) -> [Entry] {
        let current = Self.bucket(of: now)
        guard let first, first <= current else { return [] }
        let past = buckets.keys.filter { $0 <= current }.flatMap { buckets[$0] ?? [] }
        let late = past.sorted().compactMap { take($0) }
        self.first = buckets.keys.min()
        return late
    }

    /// Takes all matching requests, in the order they were added.
    package mutating func takeAll(where fits: (Entry) -> Bool = { _ in true }) -> [Entry] {
        let ids = entries.filter { fits($0.value.entry) }.keys.sorted()
        return ids.compactMap { take($0) }
    }

    private static func bucket(of time: Duration) -> Int64 {
        let (seconds, attoseconds) = time.components
        // A peer's number has at most 18 digits (`LineScanner.number`), and is in milliseconds: this product cannot overflow.
        return seconds * (1000 / bucketMilliseconds) + attoseconds / (bucketMilliseconds * 1_000_000_000_000_000)
    }
}

/// Returns the earlier time. nil is later than any time.
package func earlier<Time: Comparable>(_ a: Time?, _ b: Time?) -> Time? {
    guard let a, let b else { return a ?? b }
    return min(a, b)
}
