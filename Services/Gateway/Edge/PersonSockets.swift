import Synchronization

/// The sockets of each person on all loops of a gateway, in the order they came, and no more of them than a person may have.
package final class PersonSockets: Sendable {
    struct Entry: Sendable {
        let front: SocketFront
        let socketID: String
    }

    let limit: Int
    private let entries = Mutex<[String: [Entry]]>([:])

    package init(limit: Int) { self.limit = limit }

    /// - Returns: the oldest one, which has to go, if there are too many now. It is counted no more.
    func add(_ entry: Entry, of userID: String) -> Entry? {
        // Where nothing is limited there is nothing to count.
        guard limit < .max else { return nil }
        return entries.withLock { entries in
            entries[userID, default: []].append(entry)
            guard let count = entries[userID]?.count, count > limit else { return nil }
            return entries[userID]?.removeFirst()
        }
    }

    func remove(_ socketID: String, of userID: String) {
        guard limit < .max else { return }
        entries.withLock { entries in
            entries[userID]?.removeAll { $0.socketID == socketID }
            if entries[userID]?.isEmpty == true { entries[userID] = nil }
        }
    }
}
