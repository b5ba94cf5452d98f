import Synchronization

/// The sockets of each person on all loops of a gateway, in the order they came, and no more of them than a person may have.
package final class PersonSockets: Sendable {
    struct Place: Sendable {
        let front: SocketFront
        let socketID: String
    }

    let limit: Int
    private let places = Mutex<[String: [Place]]>([:])

    package init(limit: Int) { self.limit = limit }

    /// - Returns: the oldest one, which has to go, if there are too many now. It is counted no more.
    func add(_ place: Place, of userID: String) -> Place? {
        // Where nothing is limited there is nothing to count.
        guard limit < .max else { return nil }
        return places.withLock { places in
            places[userID, default: []].append(place)
            guard let count = places[userID]?.count, count > limit else { return nil }
            return places[userID]?.removeFirst()
        }
    }

    func remove(_ socketID: String, of userID: String) {
        guard limit < .max else { return }
        places.withLock { places in
            places[userID]?.removeAll { $0.socketID == socketID }
            if places[userID]?.isEmpty == true { places[userID] = nil }
        }
    }
}
