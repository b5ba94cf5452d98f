import ParlorContracts

/// The badges that wait to be composed. Those of one person are composed one after the other, so they are
/// sent in the log's order, however long a service takes.
struct BadgeQueue {
    struct Pending {
        let event: Replay.Event
        let position: EntryPosition
    }

    /// The limit of waiting badges of one person. Beyond it, a later event of a room replaces an earlier one.
    static let maxPending = 256

    private var people: [String: [Pending]] = [:]

    /// - Returns: true if it is the person's first; the caller then has to start composing with `next`.
    mutating func add(_ pending: Pending, for userID: String) -> Bool {
        guard people[userID]?.append(pending) == nil else {
            if let count = people[userID]?.count, count > Self.maxPending {
                // The first is being composed already.
                let earlier = people[userID]?[1..<(count - 1)].firstIndex {
                    $0.event.roomID == pending.event.roomID && $0.event.item.emission.composition == .badges
                }
                if let earlier { people[userID]?.remove(at: earlier) }
            }
            return false
        }
        people[userID] = [pending]
        return true
    }

    /// Returns the event to compose now; it stays in the queue until `removeNext`.
    func next(for userID: String) -> Pending? { people[userID]?.first }

    mutating func removeNext(for userID: String) {
        people[userID]?.removeFirst()
        if people[userID]?.isEmpty == true { people[userID] = nil }
    }
}
