import ParlorServiceKit
import ParlorStorage
import Synchronization

/// The names of the keepers that are stored, cached, as each request for a record names one.
final class Keepers: Sendable {
    private let known = Mutex<Set<String>>([])

    /// Prepares a request for a room's record. Stores the name of a keeper, so that it confirms every later change. Raises the
    /// version of a record that a keeper has had with a higher one: this database was restored from before the last changes.
    func prepare(_ request: Request, in database: any Database) async throws {
        // What is malformed is refused by the read.
        if let keeper = request.fields["keeper"]?.string { try await note(keeper, in: database) }
        guard let fence = request.fields["atLeast"]?.int, let roomID = request.fields["roomId"]?.string else { return }
        guard try await database.read({ try RoomsStore($0).version(of: roomID) }) < fence else { return }
        try await database.write { try RoomsStore($0).raiseVersion(of: roomID, to: fence) }
    }

    private func note(_ name: String, in database: any Database) async throws {
        guard !known.withLock({ $0.contains(name) }) else { return }
        try await database.write { try PendingChangesStore($0).addKeeper(name) }
        known.withLock { _ = $0.insert(name) }
    }

    /// Deletes a name, because an operator has removed the service.
    func forget(_ name: String, in database: any Database) async throws {
        try await database.write { try PendingChangesStore($0).removeKeeper(name) }
        // Afterwards, as a request may have noted it meanwhile.
        known.withLock { _ = $0.remove(name) }
    }
}
