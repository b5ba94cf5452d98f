import ServiceKit
import Storage
import Synchronization

/// Writes down what became of jobs: many in one transaction, as nobody waits for it. What a crash keeps from being written is
/// sent again under the same id.
final class JobResults: Sendable {
    /// How long the first waits for others. Each commit is a sync of the disk, for which those who send messages may have to wait.
    private static let interval: Duration = .milliseconds(500)
    private static let retryInterval: Duration = .seconds(1)

    private let database: any Database
    private let worker: String
    private let clock: any WallClock
    private let log: Logger
    private let wakeup = Wakeup()
    private let waiting = Mutex<[JobResult]>([])
    private let open = Atomic(0)
    /// Told after each write.
    private let onWritten: @Sendable () -> Void

    init(
        _ database: any Database, of worker: String, clock: any WallClock, log: Logger,
        onWritten: @escaping @Sendable () -> Void
    ) {
        self.database = database
        self.worker = worker
        self.clock = clock
        self.log = log
        self.onWritten = onWritten
    }

    /// Jobs that were taken, and of which nothing is written yet.
    var inHand: Int { open.load(ordering: .relaxed) }

    func expect(_ count: Int) { open.wrappingAdd(count, ordering: .relaxed) }

    /// Each job that was expected once.
    func add(_ result: JobResult) {
        waiting.withLock { $0.append(result) }
        wakeup.signal()
    }

    /// Until the task is cancelled; what waits then is left to `write`.
    func run() async {
        while !Task.isCancelled {
            await wakeup.wait(atMost: .seconds(3600))
            try? await Task.sleep(for: Self.interval)  // cancelled at the end
            while await !write(), !Task.isCancelled {
                try? await Task.sleep(for: Self.retryInterval)  // the same
            }
        }
    }

    /// Writes all that waits.
    ///
    /// - Returns: false if that failed; it waits on.
    @discardableResult
    func write() async -> Bool {
        let results = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        guard !results.isEmpty else { return true }
        do {
            let now = clock.now()
            try await database.write(holding: 256 * results.count) { [worker] connection in
                let database = PushDatabase(connection)
                for result in results { try database.record(result, by: worker, at: now) }
            }
            open.wrappingSubtract(results.count, ordering: .relaxed)
            onWritten()
            return true
        } catch {
            log.warning("what was sent could not be written down", ["jobs": results.count, "error": "\(error)"])
            waiting.withLock { $0.insert(contentsOf: results, at: 0) }
            return false
        }
    }
}
