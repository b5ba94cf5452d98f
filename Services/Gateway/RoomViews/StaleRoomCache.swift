import ParlorJSON
import ParlorServiceKit
import Synchronization

/// The last contributions of services to people's rooms, for outages. The least recently active person's are
/// evicted first.
final class StaleRoomCache: Sendable {
    /// The limits of a generation: people, and bytes of their values. There are two generations.
    static let generationSize = 10_000
    static let generationBytes = 16 << 20

    /// A service's last values of a person's rooms.
    private struct Replies: Sendable {
        private var roomIDs: [String] = []
        private var values: [JSONValue] = []
        /// True if the values are slices of one reply, which they keep in memory.
        private var areParts = false
        /// The values of single rooms that arrived after the reply for all rooms. If there are more than `maxOwn`, they
        /// are merged into the list, where a value takes less memory.
        private var own: [String: JSONValue] = [:]
        private var listSize = 0
        private var ownSize = 0

        mutating func noteAll(_ roomIDs: [String], _ values: [JSONValue]) {
            setList(roomIDs, values)
            areParts = true
            for id in roomIDs where !own.isEmpty {
                if let value = own.removeValue(forKey: id) { ownSize -= Self.size(ofOwn: value) }
            }
        }

        mutating func note(_ roomIDs: [String], _ values: [JSONValue]) {
            for (id, value) in zip(roomIDs, values) { setOwn(value, of: id) }
            if own.count > Self.maxOwn { joinOwn() }
        }

        /// Merges the values of single rooms into the list. The remaining values are copied, so that they no
        /// longer keep the whole reply alive.
        private mutating func joinOwn() {
            var ids = roomIDs
            var values = zip(ids, values).map { id, value in
                own.removeValue(forKey: id) ?? (areParts ? value.detached : value)
            }
            areParts = false
            for (id, value) in own {
                ids.append(id)
                values.append(value)
            }
            (own, ownSize) = ([:], 0)
            setList(ids, values)
        }

        private mutating func setList(_ roomIDs: [String], _ values: [JSONValue]) {
            (self.roomIDs, self.values) = (roomIDs, values)
            listSize = values.reduce(0) { $0 + Self.size(of: $1) }
        }

        private mutating func setOwn(_ value: JSONValue?, of roomID: String) {
            ownSize += Self.size(ofOwn: value) - Self.size(ofOwn: own[roomID])
            own[roomID] = value
        }

        var size: Int { Self.sizeOfReply + listSize + ownSize }

        private static let maxOwn = 256
        private static let sizeOfReply = 200
        /// Returns the size of a value in the list. An id takes some forty bytes, and sixteen in its array. A
        /// value takes some forty in addition to its own.
        private static func size(of value: JSONValue) -> Int { value.bytes.count + 96 }
        private static func size(ofOwn value: JSONValue?) -> Int { value.map { sizeOfReply + size(of: $0) } ?? 0 }

        func values(of asked: [String]) -> [JSONValue?] {
            let listed = Dictionary(zip(roomIDs, values), uniquingKeysWith: { first, _ in first })
            return asked.map { own[$0] ?? listed[$0] }
        }
    }

    /// The values by person and service, so that a reply of one service does not evict the values of another
    /// that may be unavailable.
    private let state = Mutex(
        Generations<String, [String: Replies]>(maxCount: generationSize, maxBytes: generationBytes) { services in
            services.values.reduce(0) { $0 + $1.size }
        })

    /// - Parameter remembered: `all` if these are all of the person's rooms. If it is `some`, the values of the other
    ///   rooms stay. If it is `nothing`, no value is stored.
    func note(
        _ service: String, _ userID: String, _ roomIDs: [String], _ values: [JSONValue],
        as remembered: RoomComposer.Remembered
    ) {
        if remembered == .nothing { return }
        let values = remembered == .all ? values : values.map(\.detached)
        state.withLock { people in
            var services = people.remove(userID) ?? [:]
            if remembered == .all {
                services[service, default: Replies()].noteAll(roomIDs, values)
            } else {
                services[service, default: Replies()].note(roomIDs, values)
            }
            people.put(services, for: userID)
        }
    }

    /// Notes that the person got a cached list, which shows that the values are still current.
    func renew(_ userID: String) { state.withLock { _ = $0.use(userID) } }

    /// Returns the values of each room, in the given order; nil for an unknown room.
    func values(_ service: String, _ userID: String, _ roomIDs: [String]) -> [JSONValue?] {
        let replies = state.withLock { $0.use(userID)?[service] }
        return (replies ?? Replies()).values(of: roomIDs)
    }
}
