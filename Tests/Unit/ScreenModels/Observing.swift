import Observation
import Testing

/// Returns once a condition is true: it is checked again with each change of what it reads, and the time stands still meanwhile.
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
