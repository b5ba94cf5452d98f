import Synchronization

/// Shares a pool's threads among parties in turn (`FairQueue`), for work that is so expensive that one party
/// could starve the others.
public final class FairPool: Sendable {
    /// The limits of running and waiting jobs.
    public struct Limits: Sendable {
        /// The limit of one network's running jobs: lower than the number of threads, so that one stays free
        /// for others.
        public var inFlightOfNetwork: Int
        public var waitingOfAddress: Int
        public var waitingOfNetwork: Int
        public var waiting: Int

        public init(inFlightOfNetwork: Int, waitingOfAddress: Int, waitingOfNetwork: Int, waiting: Int) {
            self.inFlightOfNetwork = inFlightOfNetwork
            self.waitingOfAddress = waitingOfAddress
            self.waitingOfNetwork = waitingOfNetwork
            self.waiting = waiting
        }
    }

    private struct Job: Sendable {
        let run: @Sendable () -> Void
        let refuse: @Sendable (FairPoolRefusal) -> Void
    }

    private struct State {
        var queue: FairQueue<Job>
        var free: Int
        /// The usual time of a job, as a moving average.
        var usualTime: Duration = .zero

        mutating func note(_ took: Duration) { usualTime = usualTime == .zero ? took : (usualTime * 3 + took) / 4 }
    }

    private let workers: WorkerPool
    private let state: Mutex<State>

    /// - Parameter workers: a pool that runs no other long work.
    public init(_ workers: WorkerPool, _ limits: Limits) {
        self.workers = workers
        state = Mutex(State(queue: FairQueue(limits), free: workers.threadCount))
    }

    /// Returns the reason why a job of this party would be refused now, or nil if it would be accepted.
    public func refusal(of party: Party?) -> FairPoolRefusal? { state.withLock { $0.queue.refusal(of: party) } }

    /// Runs the body on one of the threads, when it is the party's turn. Cancelling the caller does not stop
    /// it.
    ///
    /// - Parameters:
    ///   - party: the owner of the job; nil if it is not counted.
    ///   - deadline: the time by which it must be done. A job that cannot be done by then is refused as
    ///     `late`.
    /// - Throws: the body's error, or `FairPoolRefusal`.
    public func run<T: Sendable>(
        for party: Party?, by deadline: ContinuousClock.Instant, _ body: @escaping @Sendable () throws -> T
    ) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            let job = Job(
                run: { continuation.resume(with: Result { try body() }) },
                refuse: { continuation.resume(throwing: $0) })
            let refused = state.withLock { $0.queue.add(.init(job: job, party: party, deadline: deadline)) }
            if let refused { refused.job.refuse(refused.refusal) }
            startNext()
        }
    }

    /// Starts jobs while there are free threads and jobs whose turn it is.
    private func startNext() {
        while true {
            let (next, late) = state.withLock { state -> (FairQueue<Job>.Waiting?, [Job]) in
                guard state.free > 0 else { return (nil, []) }
                // If no job is running, start one regardless of the usual time; otherwise it would never be
                // known that jobs have become quicker.
                let needed = state.free == workers.threadCount ? .zero : state.usualTime
                let (next, late) = state.queue.next(at: .now, needing: needed)
                if next != nil { state.free -= 1 }
                return (next, late)
            }
            for job in late { job.refuse(.late) }
            guard let next else { return }
            do throws(BlockingQueueError) {
                try workers.submit { [self] in
                    let began = ContinuousClock.now
                    next.job.run()
                    end(next.party, after: .now - began)
                    startNext()
                }
            } catch {
                end(next.party, after: nil)
                next.job.refuse(.busy)
            }
        }
    }

    private func end(_ party: Party?, after took: Duration?) {
        state.withLock { state in
            state.free += 1
            state.queue.finished(party)
            if let took { state.note(took) }
        }
    }
}

/// The reason why a job was refused.
public enum FairPoolRefusal: Error {
    /// This address, or its network, has reached its limit of waiting jobs.
    case share
    /// The queue is full, or a newer job has replaced this one.
    case busy
    /// The job could not be done in time.
    case late
}
