import Observation
import Testing

/// Longer than anything takes that a test waits for, also on a machine that is busy.
private let maxWait: Duration = .seconds(30)

/// Returns once it is so: it is looked at again with each change of what it reads, and the time stands still meanwhile.
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

/// The same for what cannot be observed: it is looked at again and again.
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
