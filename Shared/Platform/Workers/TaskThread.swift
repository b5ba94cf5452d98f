/// Runs tasks on one thread of its own, in the order in which they become ready.
///
/// For a part of the program that is to give way to the others: on the runtime's threads, which are everybody's, a task with a
/// lot to do keeps a core from the rest until the kernel takes it away, milliseconds later. A task is started here by
/// `Task(executorPreference:)`; its child tasks follow it, tasks that it starts by `Task` alone do not.
///
/// A task keeps it alive; the thread ends with the last of them and the last reference.
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
            preconditionFailure("a queue without a limit is never full, and is closed by nobody else")
        }
    }
}
