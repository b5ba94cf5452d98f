import Foundation
import RoomsClient
import Testing

/// A clock whose time stands still: a test lets sleepers wake one by one.
actor HandClock: ClientClock {
    nonisolated let now = Date(timeIntervalSince1970: 1_734_428_700)
    private var sleepers: [Int: (duration: Duration, continuation: CheckedContinuation<Void, any Error>)] = [:]
    private var next = 0
    private var watchers: [(duration: Duration, continuation: CheckedContinuation<Void, Never>)] = []

    func sleep(for duration: Duration) async throws {
        let id = next
        next += 1
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
                sleepers[id] = (duration, continuation)
                for watcher in watchers where watcher.duration == duration { watcher.continuation.resume() }
                watchers.removeAll { $0.duration == duration }
            }
        } onCancel: {
            Task { await self.cancel(id) }
        }
    }

    private func cancel(_ id: Int) {
        sleepers.removeValue(forKey: id)?.continuation.resume(throwing: CancellationError())
    }

    /// Wakes one that sleeps for so long, as soon as there is one.
    func wake(_ duration: Duration) async {
        if !sleepers.contains(where: { $0.value.duration == duration }) {
            await withCheckedContinuation { watchers.append((duration, $0)) }
        }
        guard let id = sleepers.filter({ $0.value.duration == duration }).keys.min() else {
            Issue.record("the sleeper of \(duration) was cancelled")
            return
        }
        sleepers.removeValue(forKey: id)?.continuation.resume()
    }
}
