import CParlorLinux
import Glibc
import Synchronization

/// Threads for blocking calls, counted so that a caller can wait for their end.
public final class WorkerThreads: Sendable {
    private struct State {
        var running = 0
        var isOver = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let priority: ThreadPriority
    private let afterLast: @Sendable () -> Void

    /// - Parameter afterLast: called by the last thread when it ends.
    public init(priority: ThreadPriority = .normal, afterLast: @escaping @Sendable () -> Void = {}) {
        self.priority = priority
        self.afterLast = afterLast
    }

    /// Starts a thread.
    ///
    /// - Parameter name: the name that `top -H`, `perf` and a debugger show; the kernel keeps 15 bytes.
    public func start(named name: String, _ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.running += 1 }
        let entry = Unmanaged.passRetained(
            ThreadEntry { [priority] in
                pthread_setname_np(pthread_self(), String(decoding: name.utf8.prefix(15), as: UTF8.self))
                priority.apply()
                body()
                self.threadEnded()
            })
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { context in
                // Never nil: it is passed below.
                guard let context else { return nil }
                Unmanaged<ThreadEntry>.fromOpaque(context).takeRetainedValue().body()
                return nil
            }, entry.toOpaque())
        precondition(result == 0, "no thread can be started: \(String(cString: strerror(result)))")
        pthread_detach(thread)
    }

    /// Returns when every thread has ended, and `afterLast` has been called.
    public func ended() async {
        await withCheckedContinuation { continuation in
            let done = state.withLock { state in
                if !state.isOver { state.waiting.append(continuation) }
                return state.isOver
            }
            if done { continuation.resume() }
        }
    }

    private func threadEnded() {
        let isLast = state.withLock { state in
            state.running -= 1
            return state.running == 0
        }
        guard isLast else { return }
        afterLast()
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.isOver = true
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}

private final class ThreadEntry: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

/// A thread's priority when there are not enough cores for all.
public enum ThreadPriority: Sendable {
    case normal
    /// The priority of work that no one waits for. It gets the time that other threads leave, and next to
    /// nothing if they leave none (SCHED_IDLE, sched(7)). `nice` would not suffice: it divides up time, and
    /// lets a running thread keep its core for milliseconds while another has just become ready.
    case background

    /// SCHED_IDLE of <sched.h>, which Glibc's module leaves out.
    private static let idlePolicy: Int32 = 5

    func apply() {
        var parameter = sched_param()
        // On Linux this applies to the thread. If the priority cannot be lowered, the thread still does its work.
        if self == .background { sched_setscheduler(0, Self.idlePolicy, &parameter) }
    }

    /// Yields to other ready threads. Call it between parts of long work: even in the background, a thread
    /// may run for some milliseconds at first, if it had less than its share before.
    public static func giveWay() { sched_yield() }
}
