import Synchronization

/// A limit of tasks that run at once. Others wait, and run in their order.
final class Slots: Sendable {
    private struct State {
        var free: Int
        var waiting: [AsyncStream<Void>.Continuation] = []
    }

    private let state: Mutex<State>

    init(_ count: Int) { state = Mutex(State(free: count)) }

    /// Takes the next place. The task waits for the element, and then calls `leave` at its end.
    func enter() -> AsyncStream<Void> {
        let (turn, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))
        state.withLock { state in
            guard state.free > 0 else { return state.waiting.append(continuation) }
            state.free -= 1
            continuation.yield()
        }
        return turn
    }

    func leave() {
        state.withLock { state in
            guard state.waiting.isEmpty else {
                state.waiting.removeFirst().yield()
                return
            }
            state.free += 1
        }
    }
}
