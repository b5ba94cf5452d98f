/// A few threads that run what would block an event loop, or take all of its time.
public final class WorkerPool: Sendable {
    private let jobs: BlockingQueue<@Sendable () -> Void>
    private let threads = WorkerThreads()
    public let threadCount: Int

    /// The approximate memory of a waiting job: its closure and a few words.
    private static let jobBytes = 256

    /// - Parameters:
    ///   - name: of its threads.
    ///   - maxWaiting: jobs that may wait; the next one is refused.
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

    /// Runs the body on one of the threads, in the order of the calls. Cancelling the caller does not stop it.
    ///
    /// - Throws: what the body throws; `BlockingQueueError`, at once, if too many wait or the pool is closed.
    public func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try jobs.push({ continuation.resume(with: Result { try body() }) }, bytes: Self.jobBytes)
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    /// The same for who waits in another way: the body is called once, on one of the threads.
    ///
    /// - Throws: at once, and then it is not called.
    public func submit(_ body: @escaping @Sendable () -> Void) throws(BlockingQueueError) {
        try jobs.push(body, bytes: Self.jobBytes)
    }

    /// Finishes what waits, and ends the threads.
    public func close() async {
        jobs.close()
        await threads.ended()
    }
}
