import ParlorStorage
import Synchronization

/// The names of the keepers that are stored, cached, as each request for a record names one.
final class Keepers: Sendable {
    private let known = Mutex<Set<String>>([])

    /// Stores a name, unless it is.
    func note(_ name: String, in database: any Database) async throws {
        guard !known.withLock({ $0.contains(name) }) else { return }
        try await database.write { try PendingChangesStore($0).addKeeper(name) }
        known.withLock { _ = $0.insert(name) }
    }

    /// Deletes a name, because an operator has removed the service.
    func forget(_ name: String, in database: any Database) async throws {
        known.withLock { _ = $0.remove(name) }
        try await database.write { try PendingChangesStore($0).removeKeeper(name) }
    }
}
