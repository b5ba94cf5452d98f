import Synchronization
import Workers

/// Long work of event loops, on threads of its own: on a loop it would hold up everyone whose socket is there.
package final class LongWork: Sendable {
    private let threads = [
        TaskThread(named: "lists", priority: .normal), TaskThread(named: "lists", priority: .normal),
    ]
    private let last = Atomic<Int>(0)

    package init() {}

    /// Short work is done where the caller is, as the way there and back costs more.
    package func run<Result: Sendable>(if isLong: Bool, _ work: @Sendable () async -> Result) async -> Result {
        guard isLong else { return await work() }
        let number = last.wrappingAdd(1, ordering: .relaxed).newValue
        return await withTaskExecutorPreference(threads[number & 1]) { await work() }
    }
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
