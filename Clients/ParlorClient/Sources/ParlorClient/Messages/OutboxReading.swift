import Foundation
import Observation

/// What became of the messages that an earlier run of the app has left in the outbox.
@MainActor
@Observable
final class OutboxReading {
    private(set) var setAside: [URL] = []
    private(set) var failure: String?
    /// True once they have been read.
    @ObservationIgnored private var isDone = false

    /// Reads them, or reads them again.
    func run(_ outbox: Outbox) async {
        do {
            setAside += try await outbox.start().map(\.keptAt)
            (isDone, failure) = (true, nil)
        } catch {
            // A later call of this function may have succeeded meanwhile.
            if !isDone { failure = error.localizedDescription }
        }
    }
}
