import Observation
import Testing

/// Longer than anything that a test waits for, even on a busy machine.
private let maxWait: Duration = .seconds(30)

/// Returns once a condition is true: it is checked again with each change of what it reads, and the
/// time stands still meanwhile.
@MainActor
func until(_ isSo: @MainActor () -> Bool) async {
    // The time limit of the suite cancels it.
    while !Task.isCancelled {
        let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        if withObservationTracking(isSo, onChange: { change.finish() }) { return }
        for await _ in changes {}
    }
    Issue.record("it was never so")
}

/// Waits likewise for what cannot be observed, by polling.
@MainActor
func lookUntil(_ isSo: @MainActor () async -> Bool) async {
    let end = ContinuousClock.now + maxWait
    while await !isSo() {
        guard !Task.isCancelled, ContinuousClock.now < end else {
            Issue.record("it was never so")
            return
        }
        await Task.yield()
    }
}
