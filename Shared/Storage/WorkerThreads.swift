import Glibc
import Synchronization

/// Threads for calls that block, counted so that one can wait for their end.
final class WorkerThreads: Sendable {
    private struct State {
        var running = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func start(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.running += 1 }
        let entry = Unmanaged.passRetained(
            ThreadEntry {
                body()
                self.ended()
            })
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { context in
                // Never nil: it is what is passed below.
                guard let context else { return nil }
                Unmanaged<ThreadEntry>.fromOpaque(context).takeRetainedValue().body()
                return nil
            }, entry.toOpaque())
        precondition(result == 0, "no thread can be started: \(String(cString: strerror(result)))")
        pthread_detach(thread)
    }

    /// Returns when every thread has ended.
    func ended() async {
        await withCheckedContinuation { continuation in
            let done = state.withLock { state in
                if state.running > 0 { state.waiting.append(continuation) }
                return state.running == 0
            }
            if done { continuation.resume() }
        }
    }

    private func ended() {
        let waiting = state.withLock { state in
            state.running -= 1
            guard state.running == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}

private final class ThreadEntry: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}
