/// A time for each of the most recently used keys: of more than `capacity` keys, the less recently used half
/// is forgotten. Nothing is ever iterated, however many there are.
struct RecentTimes<Key: Hashable & Sendable>: Sendable {
    private let half: Int
    private var recent: [Key: Int] = [:]
    /// The keys that were used before all of `recent`, and not since.
    private var earlier: [Key: Int] = [:]

    /// - Parameter capacity: at least two.
    init(capacity: Int) { half = capacity / 2 }

    /// The time of a key. Both reading and writing count as a use.
    subscript(key: Key) -> Int? {
        mutating get {
            if let time = recent[key] { return time }
            guard let time = earlier.removeValue(forKey: key) else { return nil }
            keep(time, for: key)
            return time
        }
        set {
            earlier[key] = nil
            if let newValue { keep(newValue, for: key) } else { recent[key] = nil }
        }
    }

    private mutating func keep(_ time: Int, for key: Key) {
        if recent.count >= half, recent[key] == nil {
            earlier = recent
            recent = [:]
        }
        recent[key] = time
    }
}
