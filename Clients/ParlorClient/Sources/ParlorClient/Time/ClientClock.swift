import Foundation

/// A source of time. It is passed in, so that tests can advance time instead of waiting.
package protocol ClientClock: Sendable {
    var now: Date { get }

    /// Sleeps for a duration.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    func sleep(for duration: Duration) async throws
}

/// The machine's clock.
package struct SystemClock: ClientClock {
    package init() {}

    package var now: Date { Date() }

    package func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}
