/// The events of one stream of a room that one client received, in order.
struct DeliveryLog: Sendable {
    enum Item: Sendable, Equatable {
        case event(EventKey)
        /// The server reported that it cannot replay the events here. A real client would load the
        /// room again.
        case gap
    }

    private(set) var items: [Item] = []
    /// The messages of `message:new`, by event.
    private var messages: [EventKey: String] = [:]

    /// - Parameter message: the id of the message that the event brings; nil for any other event.
    mutating func receive(_ key: EventKey, message: String? = nil) {
        items.append(.event(key))
        if let message { messages[key] = message }
    }

    /// Returns the log without the events that brought these messages. Whether a client got them depends on when it came back:
    /// once a message is deleted, its event is in no log and no replay.
    func leavingOut(_ deleted: Set<String>) -> DeliveryLog {
        var rest = self
        rest.items.removeAll { item in
            guard case .event(let key) = item, let id = messages[key] else { return false }
            return deleted.contains(id)
        }
        return rest
    }

    mutating func noteGap() { if items.last != .gap { items.append(.gap) } }
}

/// The faults of a delivery log.
struct DeliveryVerdict: Sendable, Equatable {
    var delivered = 0
    var lost = 0
    var doubled = 0
    var outOfOrder = 0
    /// The number of events that no log has.
    var unknown = 0
    /// The positions in the log of the first lost events.
    var firstLost: [Int] = []

    static func += (a: inout DeliveryVerdict, b: DeliveryVerdict) {
        a.delivered += b.delivered
        a.lost += b.lost
        a.doubled += b.doubled
        a.outOfOrder += b.outOfOrder
        a.unknown += b.unknown
    }

    var isClean: Bool { lost + doubled + outOfOrder + unknown == 0 }

    /// - Parameter log: the room's events in order, from the first that the client should receive.
    init(_ deliveryLog: DeliveryLog = DeliveryLog(), of log: [EventKey] = []) {
        enum EntryState { case missing, received, excused }
        // Clearing a room twice emits equal events, so a key can have several positions.
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

    /// After a gap, an event that was emitted more than once may be any of its emissions. The event
    /// after it decides; if there is none, it is the last one.
    private static func index(
        of candidates: [Int], before following: DeliveryLog.Item?, _ isAfterGap: Bool, _ log: [EventKey]
    ) -> Int? {
        guard isAfterGap, candidates.count > 1, let following else {
            return isAfterGap ? candidates.last : candidates.first
        }
        guard case .event(let next) = following else { return candidates.first }
        return candidates.first { $0 + 1 < log.count && log[$0 + 1] == next } ?? candidates.first
    }
}
