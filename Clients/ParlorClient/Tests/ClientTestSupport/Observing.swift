import Observation
import Testing

/// Longer than any wait of a test, even on a busy machine.
private let maxWait: Duration = .seconds(30)

/// Returns once a condition is true. It is checked again after each change of what it reads; no time passes
/// on a test clock.
@MainActor
public func until(_ isSo: @MainActor () -> Bool) async {
    // The time limit of the suite cancels it.
    while !Task.isCancelled {
        let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        if withObservationTracking(isSo, onChange: { change.finish() }) { return }
        for await _ in changes {}
    }
    Issue.record("the condition never became true")
}

/// Waits for a condition that cannot be observed, by polling.
@MainActor
public func lookUntil(_ isSo: @MainActor () async -> Bool) async {
    let end = ContinuousClock.now + maxWait
    while await !isSo() {
        guard !Task.isCancelled, ContinuousClock.now < end else {
            Issue.record("the condition never became true")
            return
        }
        await Task.yield()
    }
}
