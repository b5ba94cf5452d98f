import ParlorReactor
import Synchronization

/// The people who may receive nothing of a group any more.
final class Removals: Sendable {
    private struct Removal: Hashable {
        let person: String
        let roomID: String
    }

    private struct State {
        /// The time since which each removal is in effect.
        var inEffect: [Removal: LoopInstant] = [:]
        var faults: [String] = []
        var count = 0
    }

    private static let maxFaults = 20

    private let state = Mutex(State())

    /// Notes that a removal was answered, and that everything from before has arrived.
    func note(_ person: String, from roomID: String) {
        state.withLock { $0.inEffect[Removal(person: person, roomID: roomID)] = .now() }
    }

    /// Notes that the person is about to be added again.
    func end(_ person: String, from roomID: String) {
        state.withLock { $0.inEffect[Removal(person: person, roomID: roomID)] = nil }
    }

    /// Checks that a person may receive an event of a room now.
    func check(_ event: String, of roomID: String, to person: String, isReplayed: Bool) {
        state.withLock { state in
            guard let time = state.inEffect[Removal(person: person, roomID: roomID)] else { return }
            state.count += 1
            guard state.faults.count < Self.maxFaults else { return }
            state.faults.append(
                """
                \(person) received \(event) of group \(roomID) \(isReplayed ? "in a replay " : "")\
                \(LoopInstant.now() - time) after the removal
                """)
        }
    }

    /// The events that people received after their removal.
    var violations: (count: Int, faults: [String]) { state.withLock { ($0.count, $0.faults) } }
}
