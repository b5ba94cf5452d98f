import Foundation

/// The source of time, passed in so that an app's tests can advance it instead of waiting.
public protocol ClientClock: Sendable {
    var now: Date { get }

    /// Sleeps for a duration.
    ///
    /// - Throws: `CancellationError`, at once when the task is cancelled.
    func sleep(for duration: Duration) async throws
}

/// The machine's clock.
public struct SystemClock: ClientClock {
    public init() {}

    public var now: Date { Date() }

    public func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}
