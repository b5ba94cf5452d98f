import Contracts

/// Badges that wait to be composed, each person's one after the other: so they are sent in the log's order, however long a service takes.
struct BadgeQueue {
    struct Pending {
        let event: Replay.Event
        let position: StreamPosition
    }

    /// Badges of one person that may wait while a service is slow. Beyond, the later ones of a room stand for the earlier.
    static let maxPending = 256

    private var people: [String: [Pending]] = [:]

    /// - Returns: whether it is the person's first: then composing has to begin with `next`.
    mutating func add(_ pending: Pending, for userID: String) -> Bool {
        guard people[userID]?.append(pending) == nil else {
            if let count = people[userID]?.count, count > Self.maxPending {
                // The first is being composed already.
                let earlier = people[userID]?[1..<(count - 1)].firstIndex { $0.event.roomID == pending.event.roomID }
                if let earlier { people[userID]?.remove(at: earlier) }
            }
            return false
        }
        people[userID] = [pending]
        return true
    }

    /// The one that is to be composed now; it stays until `removeNext`.
    func next(for userID: String) -> Pending? { people[userID]?.first }

    mutating func removeNext(for userID: String) {
        people[userID]?.removeFirst()
        if people[userID]?.isEmpty == true { people[userID] = nil }
    }
}
