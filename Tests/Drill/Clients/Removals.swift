import ParlorReactor
import Synchronization

/// Who has been removed from which group, and when that was answered.
final class Removals: Sendable {
    private struct Removal: Hashable {
        let person: String
        let roomID: String
    }

    private struct State {
        var answeredAt: [Removal: LoopInstant] = [:]
        var faults: [String] = []
        var late = 0
    }

    /// The time that events may take from a gateway to the client.
    private static let onTheWay: Duration = .milliseconds(100)

    private let state = Mutex(State())

    /// Notes that a removal was answered.
    func answered(_ person: String, from roomID: String) {
        state.withLock { $0.answeredAt[Removal(person: person, roomID: roomID)] = .now() }
    }

    /// Notes that the person is about to be added again.
    func forget(_ person: String, from roomID: String) {
        state.withLock { $0.answeredAt[Removal(person: person, roomID: roomID)] = nil }
    }

    /// Checks that a person may receive an event of a room now.
    func check(_ event: String, of roomID: String, to person: String) {
        state.withLock { state in
            guard let answeredAt = state.answeredAt[Removal(person: person, roomID: roomID)] else { return }
            let time = LoopInstant.now() - answeredAt
            guard time > Self.onTheWay else { return }
            state.late += 1
            if state.faults.count < 20 {
                state.faults.append("\(person) received \(event) of group \(roomID) \(time) after the removal")
            }
        }
    }

    /// The events that people received after their removal.
    var late: (count: Int, faults: [String]) { state.withLock { ($0.late, $0.faults) } }
}
