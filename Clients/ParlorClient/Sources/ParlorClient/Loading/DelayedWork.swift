/// Work that runs after a pause, once for all calls that come during the pause.
@MainActor
final class DelayedWork {
    private let clock: any ClientClock
    private var waiting: Task<Void, Never>?

    nonisolated init(_ clock: any ClientClock) { self.clock = clock }

    /// Runs the work after the pause. Does nothing if work waits already.
    ///
    /// - Parameter work: captures its owner weakly, since the owner keeps this object.
    func start(after pause: Duration, _ work: @escaping @MainActor () async -> Void) {
        guard waiting == nil else { return }
        waiting = Task { [weak self, clock] in
            do { try await clock.sleep(for: pause) } catch { return }  // cancelled
            guard !Task.isCancelled else { return }
            self?.waiting = nil
            await work()
        }
    }

    /// Drops work that waits. Work that has begun continues.
    func cancel() {
        waiting?.cancel()
        waiting = nil
    }
}
