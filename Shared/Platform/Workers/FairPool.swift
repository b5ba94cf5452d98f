import Synchronization

/// Shares a pool's threads among parties that take turns (`FairQueue`), for work that is so
/// expensive that one party could starve the others.
public final class FairPool: Sendable {
    /// Jobs that may be under way and wait.
    public struct Limits: Sendable {
        /// The jobs of one network that run at once: fewer than there are threads, so that one
        /// stays free for others.
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

    /// - Parameter workers: nobody else gives them work that takes long.
    public init(_ workers: WorkerPool, _ limits: Limits) {
        self.workers = workers
        state = Mutex(State(queue: FairQueue(limits), free: workers.threadCount))
    }

    /// The reason why a job of this party would be refused now; nil if it would not.
    public func refusal(of party: Party?) -> FairPoolRefusal? { state.withLock { $0.queue.refusal(of: party) } }

    /// Runs the body on one of the threads, once it is the party's turn. Cancelling the caller does not stop it.
    ///
    /// - Parameters:
    ///   - party: nil if it is not to be counted.
    ///   - deadline: what could not be done by then is not begun.
    /// - Throws: what the body throws; `FairPoolRefusal`.
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

    /// Starts what has a thread and a turn.
    private func startNext() {
        while true {
            let (next, late) = state.withLock { state -> (FairQueue<Job>.Waiting?, [Job]) in
                guard state.free > 0 else { return (nil, []) }
                // Nothing is under way: one is tried however long the last ones took, or it would never be known that it is quicker now.
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
    /// This address, or its network, has as much waiting as it may.
    case share
    /// Too much waits in all.
    case busy
    /// It could not be done in time.
    case late
}
