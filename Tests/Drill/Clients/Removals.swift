import Synchronization

/// The people who may receive nothing of a group any more.
final class Removals: Sendable {
    private struct Removal: Hashable {
        let person: String
        let roomID: String
    }

    private struct State {
        var inEffect: Set<Removal> = []
        var faults: [String] = []
        var count = 0
    }

    private static let maxFaults = 20

    private let state = Mutex(State())

    /// Notes that a removal was answered, and that everything from before has arrived.
    func note(_ person: String, from roomID: String) {
        state.withLock { _ = $0.inEffect.insert(Removal(person: person, roomID: roomID)) }
    }

    /// Notes that the person is about to be added again.
    func end(_ person: String, from roomID: String) {
        state.withLock { _ = $0.inEffect.remove(Removal(person: person, roomID: roomID)) }
    }

    /// Checks that a person may receive an event of a room now.
    func check(_ event: String, of roomID: String, to person: String) {
        state.withLock { state in
            guard state.inEffect.contains(Removal(person: person, roomID: roomID)) else { return }
            state.count += 1
            guard state.faults.count < Self.maxFaults else { return }
            state.faults.append("\(person) received \(event) of group \(roomID) after the removal")
        }
    }

    /// The events that people received after their removal.
    var violations: (count: Int, faults: [String]) { state.withLock { ($0.count, $0.faults) } }
}
