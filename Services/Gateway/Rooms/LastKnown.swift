import JSON
import Synchronization

/// What services last contributed, for when one of them is away. The least recently told is forgotten.
final class LastKnown: Sendable {
    /// Answers in a generation; two are kept. At a kilobyte each that is some 20 MB.
    static let generationSize = 10_000

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
    }

    private struct State {
        var number = 0
        var young: [Key: Answer] = [:]
        var old: [Key: Answer] = [:]
    }

    private let state = Mutex(State())

    func note(_ service: String, _ userID: String, _ roomIDs: [String], _ values: [JSONValue]) {
        let key = Key(service: service, userID: userID, roomID: roomIDs.count == 1 ? roomIDs[0] : nil)
        state.withLock { state in
            state.number += 1
            if state.young.count >= Self.generationSize {
                state.old = state.young
                state.young = [:]
            }
            state.young[key] = Answer(number: state.number, roomIDs: roomIDs, values: values)
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
