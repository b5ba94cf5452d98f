import JSON
import Synchronization

/// What services last contributed, for when one of them is away. The least recently told is forgotten.
final class LastKnown: Sendable {
    /// Answers in a generation, and their bytes; two generations are kept.
    static let generationSize = 10_000
    static let generationBytes = 16 << 20

    struct Key: Hashable, Sendable {
        let service: String
        let userID: String
        /// One room's own answer, or all rooms' of a person.
        let roomID: String?
    }

    private struct Answer: Sendable {
        let number: Int
        let roomIDs: [String]
        let values: [JSONValue]

        /// An id takes some forty bytes, sixteen more in its list, and a value as many around its own.
        var size: Int { values.reduce(200) { $0 + $1.bytes.count + 96 } }
    }

    private struct State {
        var number = 0
        /// Of the young generation.
        var bytes = 0
        var young: [Key: Answer] = [:]
        var old: [Key: Answer] = [:]
    }

    private let state = Mutex(State())

    func note(_ service: String, _ userID: String, _ roomIDs: [String], _ values: [JSONValue]) {
        let key = Key(service: service, userID: userID, roomID: roomIDs.count == 1 ? roomIDs[0] : nil)
        state.withLock { state in
            state.number += 1
            if state.young.count >= Self.generationSize || state.bytes >= Self.generationBytes {
                state.old = state.young
                state.young = [:]
                state.bytes = 0
            }
            let answer = Answer(number: state.number, roomIDs: roomIDs, values: values)
            let replaced = state.young.updateValue(answer, forKey: key)
            state.bytes += answer.size - (replaced?.size ?? 0)
        }
    }

    /// The values of each room, in the order asked for; nil for a room that nothing is known of.
    func values(_ service: String, _ userID: String, _ roomIDs: [String]) -> [JSONValue?] {
        let answers = state.withLock { state in
            ([nil] + roomIDs.map(Optional.some)).map { roomID in
                let key = Key(service: service, userID: userID, roomID: roomID)
                return state.young[key] ?? state.old[key]
            }
        }
        var listed: [String: JSONValue] = [:]
        if let all = answers[0] {
            listed = Dictionary(zip(all.roomIDs, all.values), uniquingKeysWith: { first, _ in first })
        }
        return zip(roomIDs, answers.dropFirst()).map { roomID, own in
            guard let own, own.number > answers[0]?.number ?? 0 || listed[roomID] == nil else { return listed[roomID] }
            return own.values.first
        }
    }
}
