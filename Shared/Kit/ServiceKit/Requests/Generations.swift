/// A table that evicts its least recently used entries, many at once: when the young generation is full, it
/// becomes the old one, and the previous old one is dropped.
///
/// `put` and `use` count as uses; reading and changing do not.
public struct Generations<Key: Hashable, Value> {
    private struct Generation {
        var values: [Key: Value] = [:]
        var bytes = 0

        mutating func remove(_ key: Key, _ sizeOf: (Value) -> Int) -> Value? {
            guard let value = values.removeValue(forKey: key) else { return nil }
            bytes -= sizeOf(value)
            return value
        }

        /// - Returns: true if the entry is in this generation.
        mutating func change(_ key: Key, _ sizeOf: (Value) -> Int, _ body: (inout Value?) -> Void) -> Bool {
            guard let before = values[key].map(sizeOf) else { return false }
            body(&values[key])
            bytes += (values[key].map(sizeOf) ?? 0) - before
            return true
        }
    }

    private let maxCount: Int
    private let maxBytes: Int
    private let sizeOf: @Sendable (Value) -> Int
    private var young = Generation()
    private var old = Generation()

    /// - Parameters:
    ///   - maxCount: the limit of entries in a generation; there are two.
    ///   - maxBytes: the limit of the entries' bytes in a generation. An entry that exceeds it fills a generation
    ///     by itself.
    ///   - sizeOf: returns an entry's bytes, which must stay the same until it is changed.
    public init(
        maxCount: Int = .max, maxBytes: Int = .max, sizeOf: @escaping @Sendable (Value) -> Int = { _ in 0 }
    ) {
        self.maxCount = maxCount
        self.maxBytes = maxBytes
        self.sizeOf = sizeOf
    }

    /// The size of all entries.
    public var bytes: Int { young.bytes + old.bytes }

    public subscript(key: Key) -> Value? { young.values[key] ?? old.values[key] }

    /// Returns the entry for a key, and counts it as used.
    @discardableResult
    public mutating func use(_ key: Key) -> Value? {
        if let value = young.values[key] { return value }
        guard let value = old.remove(key, sizeOf) else { return nil }
        put(value, for: key)
        return value
    }

    public mutating func put(_ value: Value, for key: Key) {
        remove(key)
        let size = sizeOf(value)
        if young.values.count >= maxCount || young.bytes + size > maxBytes, !young.values.isEmpty {
            old = young
            young = Generation()
        }
        young.values[key] = value
        young.bytes += size
    }

    @discardableResult
    public mutating func remove(_ key: Key) -> Value? { young.remove(key, sizeOf) ?? old.remove(key, sizeOf) }

    /// Changes an entry in place. It is removed if the body sets it to nil.
    public mutating func change(_ key: Key, _ body: (inout Value?) -> Void) {
        if !young.change(key, sizeOf, body) { _ = old.change(key, sizeOf, body) }
    }

    public mutating func removeAll() { (young, old) = (Generation(), Generation()) }
}
