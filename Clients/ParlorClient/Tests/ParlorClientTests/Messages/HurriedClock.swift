import Foundation

@testable import ParlorClient

/// A clock that wakes sleepers without waiting until they run. It is faster than `TestClock`, for thousands of
/// histories in which the order does not matter.
final class HurriedClock: ClientClock {
    private struct State: Sendable {
        var now = start
        var lastID = 0
        var cancelled: Set<Int> = []
        var sleepers: [Int: (wakesAt: Date, continuation: CheckedContinuation<Void, any Error>)] = [:]
    }

    private let state = Guarded(State())

    var now: Date { state.withLock { $0.now } }

    func advance(by seconds: Double) {
        let woken = state.withLock { state in
            state.now += seconds
            let due = state.sleepers.filter { $0.value.wakesAt <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.sorted { $0.wakesAt < $1.wakesAt }
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }

    func sleep(for duration: Duration) async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = state.withLock { state in
                    guard state.cancelled.remove(id) == nil else { return true }
                    state.sleepers[id] = (state.now + duration / .seconds(1), continuation)
                    return false
                }
                if isCancelled { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: id)
                if sleeper == nil { state.cancelled.insert(id) }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }
}
