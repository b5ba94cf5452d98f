import Synchronization

/// The sockets of each person on all loops of a gateway, in order of arrival, limited to the number that a
/// person may have.
package final class PersonSockets: Sendable {
    struct Entry: Sendable {
        let front: SocketFront
        let socketID: String
    }

    let limit: Int
    private let entries = Mutex<[String: [Entry]]>([:])

    package init(limit: Int) { self.limit = limit }

    /// - Returns: the oldest socket, which has to be closed, if there are too many now. It is no longer
    ///   counted.
    func add(_ entry: Entry, of userID: String) -> Entry? {
        // Without a limit nothing is counted.
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
