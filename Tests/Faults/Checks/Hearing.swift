/// What one client heard of one stream of a room, in its order.
struct Hearing: Sendable {
    enum Item: Sendable, Equatable {
        case event(EventKey)
        /// The server said that what came here cannot be told any more: the client loaded the room anew.
        case gap
    }

    private(set) var items: [Item] = []

    mutating func hear(_ key: EventKey) { items.append(.event(key)) }

    mutating func noteGap() { if items.last != .gap { items.append(.gap) } }

    /// Forgets what came after a place: it is going to be told again.
    mutating func rewind(to count: Int) { items.removeSubrange(count...) }
}

/// What stands against a hearing.
struct HearingVerdict: Sendable, Equatable {
    var delivered = 0
    var lost = 0
    var doubled = 0
    var outOfOrder = 0
    /// Events that no log has.
    var unknown = 0

    static func += (a: inout HearingVerdict, b: HearingVerdict) {
        a.delivered += b.delivered
        a.lost += b.lost
        a.doubled += b.doubled
        a.outOfOrder += b.outOfOrder
        a.unknown += b.unknown
    }

    var isClean: Bool { lost + doubled + outOfOrder + unknown == 0 }

    /// - Parameter log: what the room was told, in order, from the first that the client was to hear on.
    init(_ hearing: Hearing = Hearing(), of log: [EventKey] = []) {
        enum Place { case missing, heard, excused }
        // Clearing a room twice is told in the same words: the places of each.
        var places: [EventKey: [Int]] = [:]
        for (index, key) in log.enumerated() { places[key, default: []].append(index) }
        var states = [Place](repeating: .missing, count: log.count)
        var next = 0
        var isAfterGap = false
        for item in hearing.items {
            guard case .event(let key) = item else {
                isAfterGap = true
                continue
            }
            guard let known = places[key] else {
                unknown += 1
                continue
            }
            if let index = known.first(where: { $0 >= next }) {
                if isAfterGap { for passed in next..<index { states[passed] = .excused } }
                isAfterGap = false
                states[index] = .heard
                next = index + 1
            } else if let late = known.first(where: { states[$0] == .missing }) {
                states[late] = .heard
                outOfOrder += 1
            } else {
                doubled += 1
            }
        }
        if isAfterGap { for passed in next..<log.count { states[passed] = .excused } }
        for state in states {
            switch state {
            case .heard: delivered += 1
            case .missing: lost += 1
            case .excused: break
            }
        }
    }
}
