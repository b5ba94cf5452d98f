import Foundation
import RoomsClient

/// A clock whose time stands still: a test lets sleepers wake one by one.
actor HandClock: ClientClock {
    nonisolated let now = Date(timeIntervalSince1970: 1_734_428_700)
    private var sleepers: [Int: (duration: Duration, continuation: CheckedContinuation<Void, any Error>)] = [:]
    private var next = 0
    /// Those to be woken as soon as they sleep.
    private var due: [Duration: Int] = [:]
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
                wakeDue(duration)
            }
        } onCancel: {
            Task { await self.cancel(id) }
        }
        // One that was cancelled just before was not meant.
        if Task.isCancelled {
            wake(duration)
            throw CancellationError()
        }
    }

    private func cancel(_ id: Int) {
        sleepers.removeValue(forKey: id)?.continuation.resume(throwing: CancellationError())
    }

    /// Wakes one that sleeps for so long, now or as soon as there is one.
    func wake(_ duration: Duration) {
        due[duration, default: 0] += 1
        wakeDue(duration)
    }

    private func wakeDue(_ duration: Duration) {
        while due[duration, default: 0] > 0,
            let id = sleepers.filter({ $0.value.duration == duration }).keys.min(),
            let sleeper = sleepers.removeValue(forKey: id)
        {
            due[duration, default: 0] -= 1
            sleeper.continuation.resume()
        }
    }

    /// Returns once somebody sleeps for so long.
    func isAsleep(_ duration: Duration) async {
        if !sleepers.contains(where: { $0.value.duration == duration }) {
            await withCheckedContinuation { watchers.append((duration, $0)) }
        }
    }
}
