/// A time for each key, for those that were used last: of more than `capacity` keys, the half that was not used for longest
/// is forgotten. Nothing is ever walked through, however many there are.
struct RecentTimes<Key: Hashable & Sendable>: Sendable {
    private let half: Int
    private var recent: [Key: Int] = [:]
    /// Those that were used before all of `recent`, and not since.
    private var earlier: [Key: Int] = [:]

    /// - Parameter capacity: two at least.
    init(capacity: Int) { half = capacity / 2 }

    /// Both reading and writing is use.
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
