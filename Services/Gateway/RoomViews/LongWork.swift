import ParlorWorkers
import Synchronization

/// Threads for long work of event loops. On a loop it would delay everyone whose socket is there.
package final class LongWork: Sendable {
    private let threads = [
        TaskThread(named: "lists", priority: .normal), TaskThread(named: "lists", priority: .normal),
    ]
    private let last = Atomic<Int>(0)

    package init() {}

    /// The executor for other work that blocks or is long.
    package var executor: any TaskExecutor { threads[0] }

    /// Runs work on these threads if it is long. Short work runs where the caller is, as switching costs
    /// more.
    package func run<Result: Sendable, Failure: Error>(
        if isLong: Bool, _ work: @Sendable () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        guard isLong else { return try await work() }
        let number = last.wrappingAdd(1, ordering: .relaxed).newValue
        return try await withTaskExecutorPreference(threads[number & 1]) { () throws(Failure) in try await work() }
    }
}
