/// What one client heard of one stream of a room, in its order.
struct DeliveryLog: Sendable {
    enum Item: Sendable, Equatable {
        case event(EventKey)
        /// The server said that what came here cannot be told any more: the client loaded the room anew.
        case gap
    }

    private(set) var items: [Item] = []

    mutating func receive(_ key: EventKey) { items.append(.event(key)) }

    mutating func noteGap() { if items.last != .gap { items.append(.gap) } }
}

/// What stands against a hearing.
struct DeliveryVerdict: Sendable, Equatable {
    var delivered = 0
    var lost = 0
    var doubled = 0
    var outOfOrder = 0
    /// Events that no log has.
    var unknown = 0
    /// Places in the log of the first that were lost.
    var firstLost: [Int] = []

    static func += (a: inout DeliveryVerdict, b: DeliveryVerdict) {
        a.delivered += b.delivered
        a.lost += b.lost
        a.doubled += b.doubled
        a.outOfOrder += b.outOfOrder
        a.unknown += b.unknown
    }

    var isClean: Bool { lost + doubled + outOfOrder + unknown == 0 }

    /// - Parameter log: what the room was told, in order, from the first that the client was to hear on.
    init(_ deliveryLog: DeliveryLog = DeliveryLog(), of log: [EventKey] = []) {
        enum EntryState { case missing, received, excused }
        // Clearing a room twice is told in the same words: the places of each.
        var indices: [EventKey: [Int]] = [:]
        for (index, key) in log.enumerated() { indices[key, default: []].append(index) }
        var states = [EntryState](repeating: .missing, count: log.count)
        var next = 0
        var isAfterGap = false
        for (position, item) in deliveryLog.items.enumerated() {
            guard case .event(let key) = item else {
                isAfterGap = true
                continue
            }
            guard let known = indices[key] else {
                unknown += 1
                continue
            }
            let following = deliveryLog.items.dropFirst(position + 1).first
            if let index = Self.index(of: known.filter { $0 >= next }, before: following, isAfterGap, log) {
                if isAfterGap { for passed in next..<index { states[passed] = .excused } }
                isAfterGap = false
                states[index] = .received
                next = index + 1
            } else if let late = known.first(where: { states[$0] == .missing }) {
                states[late] = .received
                outOfOrder += 1
            } else {
                doubled += 1
            }
        }
        if isAfterGap { for passed in next..<log.count { states[passed] = .excused } }
        for (index, state) in states.enumerated() {
            switch state {
            case .received: delivered += 1
            case .missing:
                lost += 1
                if firstLost.count < 5 { firstLost.append(index) }
            case .excused: break
            }
        }
    }

    /// Behind a gap, words that were told more than once may be those of any time: what follows them tells which.
    private static func index(
        of candidates: [Int], before following: DeliveryLog.Item?, _ isAfterGap: Bool, _ log: [EventKey]
    ) -> Int? {
        guard isAfterGap, candidates.count > 1, case .event(let next) = following else { return candidates.first }
        return candidates.first { $0 + 1 < log.count && log[$0 + 1] == next } ?? candidates.first
    }
}
