import Observation

/// Returns once it is so: it is looked at again with each change of what it reads, and the time stands still meanwhile.
@MainActor
func untilShown(_ isSo: @MainActor () -> Bool) async {
    while true {
        let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        if withObservationTracking(isSo, onChange: { change.finish() }) { return }
        for await _ in changes {}
    }
}
