import Synchronization

/// Those who have not answered are not asked for a while: waiting for them would hold up what others have answered for.
final class Unresponsive: Sendable {
    private let pause: Duration
    private let until = Mutex<[String: ContinuousClock.Instant]>([:])

    init(for pause: Duration = .seconds(5)) { self.pause = pause }

    func contains(_ name: String) -> Bool { until.withLock { $0[name].map { $0 > .now } ?? false } }

    func insert(_ name: String) {
        until.withLock { until in
            until = until.filter { $0.value > .now }
            until[name] = .now + pause
        }
    }
}
