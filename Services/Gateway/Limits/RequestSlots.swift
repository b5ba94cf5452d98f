import Synchronization

/// HTTP requests and replays that are under way on this gateway, by person: so many at once, and of the heavy ones few. A heavy one that
/// finds no place waits for one; it counts among all meanwhile, which bounds how many wait.
package final class RequestSlots: Sendable {
    /// A place that is taken until this is let go of.
    package final class Slot: Sendable {
        private let leave: @Sendable () -> Void

        fileprivate init(leave: @escaping @Sendable () -> Void) { self.leave = leave }

        deinit { leave() }
    }

    private struct Waiting: Sendable {
        let id: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct Load {
        var all = 0
        var heavy = 0
        /// For a heavy place, in the order they came.
        var waiting: [Waiting] = []
    }

    private struct State {
        var people: [String: Load] = [:]
        var lastID = 0

        mutating func forgetIfIdle(_ person: String) {
            guard let load = people[person], load.all == 0, load.heavy == 0, load.waiting.isEmpty else { return }
            people[person] = nil
        }
    }

    private let isOn: Bool
    private let maxPerPerson: Int
    private let maxHeavyPerPerson: Int
    private let state = Mutex(State())

    package init(isOn: Bool, maxPerPerson: Int, maxHeavyPerPerson: Int) {
        self.isOn = isOn
        self.maxPerPerson = maxPerPerson
        self.maxHeavyPerPerson = maxHeavyPerPerson
    }

    /// People who have something under way.
    package var count: Int { state.withLock { $0.people.count } }

    /// - Returns: nil if the person has as many requests under way as may be.
    package func enter(_ person: String) -> Slot? {
        guard isOn else { return Slot {} }
        let isIn = state.withLock { state in
            guard state.people[person]?.all ?? 0 < maxPerPerson else { return false }
            state.people[person, default: Load()].all += 1
            return true
        }
        guard isIn else { return nil }
        return Slot { [weak self] in self?.leave(person) }
    }

    /// A heavy place, maybe later. To be asked for by who is in.
    ///
    /// - Parameter waitingAs: called before this suspends, with what `giveUp` takes.
    /// - Returns: nil if it was given up.
    package func enterHeavy(_ person: String, waitingAs: (Int) -> Void) async -> Slot? {
        guard isOn else { return Slot {} }
        let isIn = await withCheckedContinuation { continuation in
            let waitingID = state.withLock { state -> Int? in
                if state.people[person]?.heavy ?? 0 < maxHeavyPerPerson {
                    state.people[person, default: Load()].heavy += 1
                    return nil
                }
                state.lastID += 1
                state.people[person]?.waiting.append(Waiting(id: state.lastID, continuation: continuation))
                return state.lastID
            }
            if let waitingID { waitingAs(waitingID) } else { continuation.resume(returning: true) }
        }
        return isIn ? Slot { [weak self] in self?.leaveHeavy(person) } : nil
    }

    /// Waits no longer, if it still does.
    package func giveUp(_ id: Int, of person: String) {
        let waiting = state.withLock { state -> Waiting? in
            guard let index = state.people[person]?.waiting.firstIndex(where: { $0.id == id }) else { return nil }
            return state.people[person]?.waiting.remove(at: index)
        }
        waiting?.continuation.resume(returning: false)
    }

    private func leave(_ person: String) {
        state.withLock { state in
            state.people[person]?.all -= 1
            state.forgetIfIdle(person)
        }
    }

    private func leaveHeavy(_ person: String) {
        // The place goes to who has waited for longest.
        let next = state.withLock { state -> Waiting? in
            if state.people[person]?.waiting.isEmpty == false { return state.people[person]?.waiting.removeFirst() }
            state.people[person]?.heavy -= 1
            state.forgetIfIdle(person)
            return nil
        }
        next?.continuation.resume(returning: true)
    }
}
