import Glibc
import ParlorWorkers

extension EventLoop {
    /// The loop of the calling thread.
    public static var current: EventLoop? {
        guard let pointer = pthread_getspecific(currentLoopKey) else { return nil }
        return Unmanaged<EventLoop>.fromOpaque(pointer).takeUnretainedValue()
    }

    /// Runs `work` on the loop, after all work and tasks that were submitted before. From any thread.
    ///
    /// An event, work or a task of this loop submits it to the same turn, unless that turn has reached its limit of
    /// jobs. A timer, or work at the turn's end, submits it to the next turn.
    ///
    /// After the group's shutdown `work` is dropped.
    public func execute(_ work: @escaping @Sendable () -> Void) { submit(.work(work)) }

    public func enqueue(_ job: consuming ExecutorJob) { submit(.task(UnownedJob(job))) }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    public func checkIsolated() { preconditionCurrent() }

    public func isIsolatingCurrentContext() -> Bool? { isCurrent }

    /// Submits a job. Returns false if the loop has ended and the job is dropped.
    @discardableResult
    func submit(_ job: Job) -> Bool {
        let (isTaken, wakes) = inbox.withLock { inbox in
            guard !inbox.hasEnded else { return (false, false) }
            inbox.jobs.append(job)
            // One wake-up is enough until the loop takes its inbox, and none is needed while it runs.
            defer { inbox.isAsleep = false }
            return (true, inbox.isAsleep)
        }
        if wakes {
            counters.wakeups.increment()
            // A loop wakes another one at once: it may be busy for long. The wake-up of a writer's thread waits until all
            // of a commit is submitted.
            if pthread_getspecific(currentLoopKey) == nil { CoalescedWakeups.note(self) } else { wake() }
        }
        return isTaken
    }
}

extension EventLoop: Wakeable {
    /// Wakes the loop's thread from epoll. From any thread.
    package func wake() { poller.wake() }
}

/// The key of a thread's loop, unretained: a stack frame of the thread holds it.
let currentLoopKey: pthread_key_t = {
    var key = pthread_key_t()
    // Fails only when a process has over a thousand keys.
    precondition(pthread_key_create(&key, nil) == 0, "no key for thread-local storage")
    return key
}()
