/// Runs tasks on one thread of its own, in the order in which they become ready.
///
/// It is for a part of the program that must give way to others. On the runtime's shared threads, a task with much work
/// keeps a core from other tasks until the kernel preempts it, milliseconds later. `Task(executorPreference:)` starts a
/// task here; its child tasks follow it, but tasks that it starts with `Task` alone do not.
///
/// A running task keeps this object alive; the thread ends with the last task and the last reference.
public final class TaskThread: TaskExecutor {
    private let jobs = BlockingQueue<UnownedJob>(maxCount: .max, maxBytes: .max)
    private let thread: WorkerThreads

    public init(named name: String, priority: ThreadPriority) {
        thread = WorkerThreads(priority: priority)
        thread.start(named: name) { [jobs, weak self] in
            while let job = jobs.take(atMost: 1)?.first {
                guard let executor = self?.asUnownedTaskExecutor() else {
                    preconditionFailure("its task keeps it alive")
                }
                job.runSynchronously(on: executor)
                if priority == .background { ThreadPriority.giveWay() }
            }
        }
    }

    deinit { jobs.close() }

    public func enqueue(_ job: consuming ExecutorJob) {
        do {
            try jobs.push(UnownedJob(job), bytes: 0)
        } catch {
            preconditionFailure("a queue without a limit is never full, and is closed only here")
        }
    }
}
