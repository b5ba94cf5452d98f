import ParlorContracts
import ParlorServiceKit
import ParlorStorage

/// Delivers changes of people to keepers that were down when these were confirmed (docs/membership.md): each keeper gets a
/// room's in their order, before a newer one (`Confirmation`), and before a record of the room. One that comes again changes
/// nothing.
struct MissedChanges: Sendable {
    private static let roomsInOneGo = 100

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
        confirmation.keepDown(only: keepers)
        try await withThrowingDiscardingTaskGroup { group in
            for keeper in keepers { group.addTask { try await deliverAll(to: keeper) } }
        }
    }

    /// Delivers room by room: a keeper that fails in one gets what it has missed in the others. One that confirms nothing in
    /// many rooms is down.
    private func deliverAll(to keeper: String) async throws {
        var last = ""
        while !Task.isCancelled {
            let roomIDs = try await database.read { [last] connection in
                try PendingChangesStore(connection).roomsMissed(by: keeper, after: last, limit: Self.roomsInOneGo)
            }
            guard let end = roomIDs.last else { return }
            last = end
            let rooms = try await database.read { connection in
                try roomIDs.map { try PendingChangesStore(connection).missed(by: keeper, in: $0) }
            }
            var isUp = false
            for missed in rooms where try await deliver(missed, to: keeper) { isUp = true }
            guard isUp else { return }
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
