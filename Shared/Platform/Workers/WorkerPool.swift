/// A few threads that run work which would block an event loop, or take all of its time.
public final class WorkerPool: Sendable {
    private let jobs: BlockingQueue<@Sendable () -> Void>
    private let threads = WorkerThreads()
    public let threadCount: Int

    /// The approximate memory of a waiting job: its closure and a few words.
    private static let jobBytes = 256

    /// Starts the threads.
    ///
    /// - Parameters:
    ///   - name: the name of its threads.
    ///   - maxWaiting: the limit of waiting jobs; the next one is refused.
    public init(named name: String = "worker", threads count: Int, maxWaiting: Int) {
        threadCount = count
        jobs = BlockingQueue(maxCount: maxWaiting, maxBytes: maxWaiting * Self.jobBytes)
        for _ in 0..<count {
            threads.start(named: name) { [jobs] in
                while let job = jobs.take(atMost: 1)?.first { job() }
            }
        }
    }

    deinit { jobs.close() }

    /// Runs the body on one of the threads, in the order of the calls. Cancelling the caller does not stop
    /// it.
    ///
    /// - Throws: the body's error, or `BlockingQueueError`, at once, if too many wait or the pool is closed.
    public func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try jobs.push({ continuation.resume(with: Result { try body() }) }, bytes: Self.jobBytes)
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    /// Calls the body once, on one of the threads, without waiting for it.
    ///
    /// - Throws: `BlockingQueueError`, at once; the body is not called then.
    public func submit(_ body: @escaping @Sendable () -> Void) throws(BlockingQueueError) {
        try jobs.push(body, bytes: Self.jobBytes)
    }

    /// Finishes the waiting jobs, and ends the threads.
    public func close() async {
        jobs.close()
        await threads.ended()
    }
}
