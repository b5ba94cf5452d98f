import ParlorContracts
import ParlorLogging
import ParlorStorage
import Synchronization

/// Keeps a service's event logs from growing without limit: entries are deleted when they are a day old.
///
/// A client that was offline for longer cannot be caught up entry by entry, as the log no longer contains its
/// position.
public final class LogPruning: Sendable {
    /// No access token lives longer. So each socket that was connected when a deleted entry was written has closed by
    /// now.
    public static let age: Duration = .seconds(86_400)
    /// The interval between deletions, short enough that each one is small.
    static let interval: Duration = .seconds(600)

    private let logs: EventLogs
    private let clock: any WallClock
    private let log: Logger
    private let task = Mutex<Task<Void, Never>?>(nil)

    public init(_ logs: EventLogs, clock: any WallClock, log: Logger) {
        self.logs = logs
        self.clock = clock
        self.log = log
    }

    public func start() {
        let running = Task { [self] in
            while !Task.isCancelled {
                await prune()
                do { try await Task.sleep(for: Self.interval) } catch { return }
            }
        }
        task.withLock { $0 = running }
    }

    public func stop() {
        task.withLock { $0?.cancel() }
    }

    func prune() async {
        do {
            let now = clock.now()
            let count = try await logs.prune(olderThan: now.adding(.zero - Self.age), at: now)
            if count > 0 { log.info("old entries of the event log deleted", ["count": count]) }
        } catch {
            log.warning("the event log was not pruned", ["error": "\(error)"])
        }
    }
}
