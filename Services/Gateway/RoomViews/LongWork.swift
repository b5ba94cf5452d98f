import Synchronization
import Workers

/// Long work of event loops, on threads of its own: on a loop it would hold up everyone whose socket is there.
package final class LongWork: Sendable {
    private let threads = [
        TaskThread(named: "lists", priority: .normal), TaskThread(named: "lists", priority: .normal),
    ]
    private let last = Atomic<Int>(0)

    package init() {}

    /// For other work that blocks or is long.
    package var executor: any TaskExecutor { threads[0] }

    /// Short work is done where the caller is, as the way there and back costs more.
    package func run<Result: Sendable>(if isLong: Bool, _ work: @Sendable () async -> Result) async -> Result {
        guard isLong else { return await work() }
        let number = last.wrappingAdd(1, ordering: .relaxed).newValue
        return await withTaskExecutorPreference(threads[number & 1]) { await work() }
    }
}
