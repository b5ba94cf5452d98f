import Foundation

/// The time, as everything here is given it: so that an app's tests can advance it in place of waiting.
public protocol ClientClock: Sendable {
    var now: Date { get }

    /// Returns once so much time has passed.
    ///
    /// - Throws: `CancellationError`, at once when the task is cancelled.
    func sleep(for duration: Duration) async throws
}

/// The machine's.
public struct SystemClock: ClientClock {
    public init() {}

    public var now: Date { Date() }

    public func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}
