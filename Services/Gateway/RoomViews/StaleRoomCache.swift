import JSON
import ServiceKit
import Synchronization

/// The last contributions of services to people's rooms, for use while one is unavailable. The
/// least recently active person's are evicted first.
final class StaleRoomCache: Sendable {
    /// People in a generation, and bytes of what is known for them; two generations are kept.
    static let generationSize = 10_000
    static let generationBytes = 16 << 20

    /// One service's last values of a person's rooms.
    private struct Answers: Sendable {
        private var roomIDs: [String] = []
        private var values: [JSONValue] = []
        /// True if the values are parts of one reply, which they keep in memory.
        private var areParts = false
        /// Values of single rooms since the reply for all: few, because each takes more memory than
        /// one in the list.
        private var own: [String: JSONValue] = [:]
        private var listSize = 0
        private var ownSize = 0

        mutating func noteAll(_ roomIDs: [String], _ values: [JSONValue]) {
            setList(roomIDs, values)
            areParts = true
            if !own.isEmpty { for id in roomIDs { setOwn(nil, of: id) } }
        }

        mutating func note(_ roomIDs: [String], _ values: [JSONValue]) {
            for (id, value) in zip(roomIDs, values) { setOwn(value, of: id) }
            if own.count > Self.maxOwn { joinOwn() }
        }

        /// Makes what is known of rooms by themselves part of the list. What is left of its answer no longer keeps all of it alive.
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

        var size: Int { Self.sizeOfAnswer + listSize + ownSize }

        private static let maxOwn = 256
        private static let sizeOfAnswer = 200
        /// An id takes some forty bytes, sixteen more in its list, and a value as many around its own.
        private static func size(of value: JSONValue) -> Int { value.bytes.count + 96 }
        private static func size(ofOwn value: JSONValue?) -> Int { value.map { sizeOfAnswer + size(of: $0) } ?? 0 }

        func values(of asked: [String]) -> [JSONValue?] {
            let listed = Dictionary(zip(roomIDs, values), uniquingKeysWith: { first, _ in first })
            return asked.map { own[$0] ?? listed[$0] }
        }
    }

    /// By person and service, so a reply of one service does not evict the values of another that
    /// may be unavailable.
    private let state = Mutex(
        Generations<String, [String: Answers]>(maxCount: generationSize, maxBytes: generationBytes) { services in
            services.values.reduce(0) { $0 + $1.size }
        })

    /// - Parameter roomIDs: all of the person's.
    func noteAll(_ service: String, _ userID: String, _ roomIDs: [String], _ values: [JSONValue]) {
        change(service, userID) { $0.noteAll(roomIDs, values) }
    }

    /// - Parameter roomIDs: some of the person's; what is known of others stays.
    func note(_ service: String, _ userID: String, _ roomIDs: [String], _ values: [JSONValue]) {
        let values = values.map(\.detached)
        change(service, userID) { $0.note(roomIDs, values) }
    }

    private func change(_ service: String, _ userID: String, _ change: (inout Answers) -> Void) {
        state.withLock { people in
            var services = people.remove(userID) ?? [:]
            change(&services[service, default: Answers()])
            people.put(services, for: userID)
        }
    }

    /// The person was answered without services being asked: what is known is what they would say.
    func renew(_ userID: String) { state.withLock { _ = $0.use(userID) } }

    /// The values of each room, in the order asked for; nil for a room that nothing is known of.
    func values(_ service: String, _ userID: String, _ roomIDs: [String]) -> [JSONValue?] {
        let answers = state.withLock { $0.use(userID)?[service] }
        return (answers ?? Answers()).values(of: roomIDs)
    }
}
