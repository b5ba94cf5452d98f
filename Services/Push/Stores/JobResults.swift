import ParlorContracts
import ParlorServiceKit
import ParlorStorage
import ParlorWorkers
import Synchronization

/// Records the jobs that this process has claimed, by lease, and stores their results: many in one transaction, as
/// no one waits for them. If a crash prevents that, the notifications are sent again under the same ids.
final class JobResults: Sendable {
    /// The time that the first result waits for others: a commit of many costs little more than one
    /// of a few.
    private static let interval: Duration = .milliseconds(500)
    private static let retryInterval: Duration = .seconds(1)

    private struct State {
        /// Jobs without a stored result.
        var open: [String: Int] = [:]
        var waiting: [JobResult] = []
    }

    private let database: any Database
    private let clock: any WallClock
    private let log: Logger
    private let wakeSignal = AsyncSignal()
    private let state = Mutex(State())

    init(_ database: any Database, clock: any WallClock, log: Logger) {
        self.database = database
        self.clock = clock
        self.log = log
    }

    /// The number of taken jobs without a stored result.
    var inHand: Int { state.withLock { $0.open.values.reduce(0, +) } }

    /// The leases with claimed jobs. If the commit of a claim failed, this process does not know whether the lease was
    /// stored. Such a lease is not listed, and its jobs are released when it expires.
    var leases: [String] { state.withLock { Array($0.open.keys) } }

    /// Records jobs that were claimed with one lease.
    func expect(_ claims: [Claim]) {
        guard let lease = claims.first?.lease else { return }
        state.withLock { $0.open[lease] = claims.count }
    }

    /// Adds a result, once for each expected job.
    func add(_ result: JobResult) {
        state.withLock { $0.waiting.append(result) }
        wakeSignal.signal()
    }

    /// Stores results until the task is cancelled; remaining ones are left to `write`.
    func run() async {
        var failure = RepeatedFailure()
        while !Task.isCancelled {
            if !failure.isThere { await wakeSignal.wait(atMost: .seconds(3600)) }
            // Interrupted only when the task ends.
            try? await Task.sleep(for: failure.isThere ? Self.retryInterval : Self.interval)
            do {
                try await write()
                failure.end()
            } catch {
                if failure.note("\(error)") {
                    log.warning("results of deliveries cannot be stored yet", ["error": "\(error)"])
                }
            }
        }
    }

    /// Stores all waiting results.
    ///
    /// - Throws: if that failed; the results continue to wait.
    func write() async throws {
        let results = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        guard !results.isEmpty else { return }
        do {
            let now = clock.now()
            try await database.write(holding: 256 * results.count, .relaxed) { connection in
                let jobs = JobsStore(connection)
                for result in results { try jobs.record(result, at: now) }
            }
        } catch {
            state.withLock { $0.waiting.insert(contentsOf: results, at: 0) }
            throw error
        }
        state.withLock { state in
            for result in results {
                let left = (state.open[result.claim.lease] ?? 0) - 1
                state.open[result.claim.lease] = left > 0 ? left : nil
            }
        }
    }
}
