import Glibc

/// A few threads for calls that block: password hashing, name lookups, disks.
///
/// Work is done in the order it came, by up to `count` threads, which start when they are first needed.
///
/// The state below is guarded by `mutex`, which makes this safe to share.
public final class WorkerThreads: @unchecked Sendable {
    private let name: String
    private let count: Int
    private let maxQueued: Int
    private let niceness: Int32
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    /// What was taken is nil, so that what it captured is not kept.
    private var queue: [(@Sendable () -> Void)?] = []
    /// Where the next work stands in `queue`: taking from the front of an array would move all the rest.
    private var next = 0
    private var threads: [Thread] = []
    private var idle = 0
    private var isShutDown = false

    /// - Parameter maxQueued: how many calls may wait for a thread; the next one is refused.
    /// - Parameter niceness: 0 to 19: how far the threads step back behind the event loops.
    public init(name: String, count: Int, maxQueued: Int, niceness: Int32 = 0) {
        self.name = name
        self.count = max(count, 1)
        self.maxQueued = maxQueued
        self.niceness = niceness
        mutex.initialize(to: pthread_mutex_t())
        changed.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(changed, nil)
    }

    deinit {
        // Every running thread holds the object, so none is left to use them.
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// Runs `body` on one of the threads.
    ///
    /// Cancelling the task does not stop it.
    /// - Throws: `WorkerThreadsError`, or what `body` throws.
    public func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            do throws(WorkerThreadsError) {
                try submit { continuation.resume(with: Result { try body() }) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    /// Queues `work` and returns.
    public func submit(_ work: @escaping @Sendable () -> Void) throws(WorkerThreadsError) {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard !isShutDown else { throw .shutDown }
        let waiting = queue.count - next
        let free = idle + (count - threads.count)
        guard waiting < maxQueued + free else { throw .queueFull }
        if waiting >= idle, threads.count < count {
            do throws(SystemError) {
                threads.append(try Thread.start(name: "\(name)-\(threads.count)", niceness: niceness) { self.work() })
            } catch {
                // The threads there are will come to it.
                if threads.isEmpty { throw .noThread(error) }
            }
        }
        queue.append(work)
        pthread_cond_signal(changed)
    }

    /// Finishes what is queued, then ends the threads. Blocks until they have ended, unless `waiting` is false.
    public func shutdown(waiting: Bool = true) {
        pthread_mutex_lock(mutex)
        isShutDown = true
        let ending = threads
        threads = []
        pthread_cond_broadcast(changed)
        pthread_mutex_unlock(mutex)
        for thread in ending { if waiting { thread.join() } else { thread.detach() } }
    }

    private func work() {
        while let work = nextWork() { work() }
    }

    /// Waits for work; nil at the end.
    private func nextWork() -> (@Sendable () -> Void)? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while next == queue.count {
            if isShutDown { return nil }
            idle += 1
            pthread_cond_wait(changed, mutex)
            idle -= 1
        }
        let work = queue[next]
        queue[next] = nil
        next += 1
        if next == queue.count {
            queue.removeAll(keepingCapacity: true)
            next = 0
        } else if next >= 256, next * 2 >= queue.count {
            queue.removeFirst(next)
            next = 0
        }
        return work
    }
}

public enum WorkerThreadsError: Error, Hashable, Sendable {
    /// `maxQueued` calls wait already; try again later.
    case queueFull
    case shutDown
    /// The system gave no thread.
    case noThread(SystemError)
}
