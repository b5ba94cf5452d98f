import Synchronization

/// Does long work beside the caller's event loop, on the threads that all tasks share: on the loop it would hold up everyone whose socket
/// is there. Short work is done where the caller is, as the way there and back costs more.
func besideLoop<Result: Sendable>(if isLong: Bool, _ work: @Sendable () async -> Result) async -> Result {
    guard isLong else { return await work() }
    return await withTaskExecutorPreference(globalConcurrentExecutor) { await work() }
}

/// Long lists that are composed at once, in all: each takes some megabytes while it is made. The others wait in the order they came; how
/// many of them are one person's is bounded by `RequestSlots`.
final class ListTurns: Sendable {
    /// A turn that is taken until this is let go of.
    final class Turn: Sendable {
        private let turns: ListTurns

        fileprivate init(_ turns: ListTurns) { self.turns = turns }

        deinit { turns.leave() }
    }

    private struct State {
        var underWay = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// More would not be faster: composing is work for a core.
    static let maxUnderWay = 4

    private let state = Mutex(State())

    func take() async -> Turn {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.underWay < Self.maxUnderWay else {
                    state.waiting.append(continuation)
                    return false
                }
                state.underWay += 1
                return true
            }
            if isFree { continuation.resume() }
        }
        return Turn(self)
    }

    private func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if !state.waiting.isEmpty { return state.waiting.removeFirst() }
            state.underWay -= 1
            return nil
        }
        next?.resume()
    }
}
