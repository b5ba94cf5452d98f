import ParlorContracts
import ParlorServiceKit
import ParlorStorage

/// Delivers changes of people to keepers that were down when these were confirmed (docs/membership.md): each keeper gets a
/// room's in their order, before a newer one (`Confirmation`), and before a record of the room. One that comes again changes
/// nothing.
struct MissedChanges: Sendable {
    private static let deliveriesInOneGo = 100

    let database: any Database
    let confirmation: Confirmation

    /// Delivers what a keeper that requests a record has missed in the room.
    ///
    /// - Throws: `service_unavailable` if the keeper does not confirm.
    func deliver(for request: Request) async throws {
        guard let keeper = request.fields["keeper"]?.string, !confirmation.required.contains(keeper),
            let roomID = request.fields["roomId"]?.string
        else { return }
        let missed = try await database.read { try PendingChangesStore($0).missed(by: keeper, in: roomID) }
        guard try await deliver(missed, to: keeper) else { throw ServiceError.unavailable("A part of this service") }
    }

    /// Delivers all that keepers which are up again have missed.
    func deliverAll() async throws {
        let keepers = try await database.read { try PendingChangesStore($0).keepersWithMissed() }
        try await withThrowingDiscardingTaskGroup { group in
            for keeper in keepers { group.addTask { try await deliverAll(to: keeper) } }
        }
    }

    private func deliverAll(to keeper: String) async throws {
        while !Task.isCancelled {
            let missed = try await database.read { connection in
                try PendingChangesStore(connection).missed(by: keeper, limit: Self.deliveriesInOneGo)
            }
            guard !missed.isEmpty, try await deliver(missed, to: keeper) else { return }
        }
    }

    /// - Returns: false if the keeper has not confirmed all of them.
    private func deliver(_ missed: [PeopleChange], to keeper: String) async throws -> Bool {
        var delivered: [PeopleChange] = []
        for change in missed {
            guard await confirmation.deliver(change, to: keeper) else { break }
            delivered.append(change)
        }
        if !delivered.isEmpty {
            try await database.write { [delivered] connection in
                for change in delivered { try PendingChangesStore(connection).removeMissed(change, by: keeper) }
            }
        }
        return delivered.count == missed.count
    }
}
