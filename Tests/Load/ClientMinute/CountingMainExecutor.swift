import Dispatch
import Glibc
import Synchronization

/// The main actor's executor, with a count of what it runs. It runs jobs on the main queue, like the usual executor.
///
/// A job is one turn of a task on the main actor. A call from code that is on it already is no job, unless it suspends.
final class CountingMainExecutor: SerialExecutor {
    fileprivate static let shared = CountingMainExecutor()
    private static let jobs = Atomic<Int>(0)
    private static let wakeUps = Atomic<Int>(0)
    private static let unfinished = Atomic<Int>(0)

    /// The number of jobs so far, and of wake-ups. A job wakes the thread if no other one waits or runs when it comes.
    static var counts: (jobs: Int, wakeUps: Int) {
        (jobs.load(ordering: .relaxed), wakeUps.load(ordering: .relaxed))
    }

    // Functions of Swift's runtime, as its Concurrency.h declares them.
    private typealias GetMainExecutor = @convention(thin) () -> UnownedSerialExecutor
    private typealias Hook = @convention(thin) (GetMainExecutor) -> UnownedSerialExecutor

    /// Replaces the main actor's executor, for the rest of the process.
    ///
    /// - Returns: false if this runtime does not let it be replaced.
    static func install() -> Bool {
        guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "swift_task_getMainExecutor_hook") else { return false }
        let hook: Hook? = { _ in mainExecutor() }
        symbol.assumingMemoryBound(to: Hook?.self).pointee = hook
        return true
    }

    func enqueue(_ job: UnownedJob) {
        Self.jobs.add(1, ordering: .relaxed)
        if Self.unfinished.add(1, ordering: .relaxed).oldValue == 0 { Self.wakeUps.add(1, ordering: .relaxed) }
        let executor = asUnownedSerialExecutor()
        DispatchQueue.main.async {
            job.runSynchronously(on: executor)
            Self.unfinished.subtract(1, ordering: .relaxed)
        }
    }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(.main)) }

    func isSameExclusiveExecutionContext(other: CountingMainExecutor) -> Bool { true }
}

// The compiler makes a thin function only of a closure that calls a global one.
@inline(never)
private func mainExecutor() -> UnownedSerialExecutor { CountingMainExecutor.shared.asUnownedSerialExecutor() }
