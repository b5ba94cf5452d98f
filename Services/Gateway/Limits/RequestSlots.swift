import Synchronization

/// A counting semaphore for each key, with a fixed number of slots. If none is free, a caller is
/// refused or waits; waiting callers get slots in their order.
package final class Slots<Key: Hashable & Sendable>: Sendable {
    /// A slot that is taken until this object is released.
    package final class Slot: Sendable {
        private let leave: @Sendable () -> Void

        init(leave: @escaping @Sendable () -> Void) { self.leave = leave }

        deinit { leave() }
    }

    private struct Waiting: Sendable {
        let id: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct Load {
        var taken = 0
        var waiting: [Waiting] = []
    }

    private struct State {
        /// The loads of keys that have a slot taken.
        var loads: [Key: Load] = [:]
        var lastID = 0
    }

    private let perKey: Int
    private let state = Mutex(State())

    package init(perKey: Int) { self.perKey = perKey }

    /// The number of keys that have a slot taken.
    package var count: Int { state.withLock { $0.loads.count } }

    /// Takes a slot of a key without waiting.
    ///
    /// - Returns: nil if none is free.
    package func take(for key: Key) -> Slot? {
        state.withLock { take(for: key, &$0) } ? slot(of: key) : nil
    }

    private func take(for key: Key, _ state: inout State) -> Bool {
        guard state.loads[key]?.taken ?? 0 < perKey else { return false }
        state.loads[key, default: Load()].taken += 1
        return true
    }

    /// Waits for a slot.
    ///
    /// - Parameter waitingAs: called before this suspends, with the id for `giveUp`.
    /// - Returns: nil if the wait was given up.
    package func wait(for key: Key, waitingAs: (Int) -> Void = { _ in }) async -> Slot? {
        let isIn = await withCheckedContinuation { continuation in
            let waitingID = state.withLock { state -> Int? in
                if take(for: key, &state) { return nil }
                state.lastID += 1
                state.loads[key]?.waiting.append(Waiting(id: state.lastID, continuation: continuation))
                return state.lastID
            }
            if let waitingID { waitingAs(waitingID) } else { continuation.resume(returning: true) }
        }
        return isIn ? slot(of: key) : nil
    }

    /// Ends the wait, if it has not ended yet.
    package func giveUp(_ id: Int, of key: Key) {
        let waiting = state.withLock { state -> Waiting? in
            guard let index = state.loads[key]?.waiting.firstIndex(where: { $0.id == id }) else { return nil }
            return state.loads[key]?.waiting.remove(at: index)
        }
        waiting?.continuation.resume(returning: false)
    }

    private func slot(of key: Key) -> Slot { Slot { [self] in leave(key) } }

    private func leave(_ key: Key) {
        let next = state.withLock { state -> Waiting? in
            guard var load = state.loads[key] else { return nil }
            // The slot goes to the caller that has waited longest.
            let next = load.waiting.isEmpty ? nil : load.waiting.removeFirst()
            if next == nil { load.taken -= 1 }
            state.loads[key] = load.taken == 0 ? nil : load
            return next
        }
        next?.continuation.resume(returning: true)
    }
}

/// The HTTP requests and replays in progress on this gateway, by person. There is a limit for all HTTP requests, and a
/// lower one for heavy requests and replays. A heavy request waits until one of the heavy slots is free. It keeps its
/// ordinary slot meanwhile, which bounds how many requests wait.
package final class RequestSlots: Sendable {
    package typealias Slot = Slots<String>.Slot

    /// The slots of all requests; nil: no limit.
    private let all: Slots<String>?
    private let heavy: Slots<String>?

    /// Creates the slots. A client of a person has a few requests in progress, also when it starts, and 32 allow for several
    /// devices. Two heavy ones, of some 100 ms of a thread each, leave threads to others.
    package init(isOn: Bool, maxPerPerson: Int = 32, maxHeavyPerPerson: Int = 2) {
        all = isOn ? Slots(perKey: maxPerPerson) : nil
        heavy = isOn ? Slots(perKey: maxHeavyPerPerson) : nil
    }

    /// The number of people who have a request in progress.
    package var count: Int { all?.count ?? 0 }

    /// Takes a slot for a request of a person.
    ///
    /// - Returns: nil if the person has the maximum number of requests in progress.
    package func enter(_ person: String) -> Slot? {
        guard let all else { return Slot {} }
        return all.take(for: person)
    }

    /// Waits for a heavy slot. An HTTP request holds an ordinary slot meanwhile; the replay of a socket holds none.
    ///
    /// - Parameter waitingAs: called before this suspends, with the id for `giveUp`.
    /// - Returns: nil if the wait was given up.
    package func enterHeavy(_ person: String, waitingAs: (Int) -> Void) async -> Slot? {
        guard let heavy else { return Slot {} }
        return await heavy.wait(for: person, waitingAs: waitingAs)
    }

    /// Ends the wait for a heavy slot, if it has not ended yet.
    package func giveUp(_ id: Int, of person: String) { heavy?.giveUp(id, of: person) }
}
