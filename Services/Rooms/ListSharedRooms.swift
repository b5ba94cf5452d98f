import Contracts
import ServiceKit

extension Rooms {
    /// For other services: `{userId, otherUserId, cursor?}` → a page of Memberships, the rooms that both are in, none for a
    /// person and themselves.
    ///
    /// - Throws: `user_not_found` if the other is nobody.
    func listSharedRooms(_ request: Request) async throws -> Reply {
        let userID = try request.fields.string("userId")
        let otherID = try request.fields.string("otherUserId")
        let cursor = try request.fields.optionalString("cursor")
        guard otherID.mayBeID else { throw ServiceError.userNotFound }
        let (rooms, isKnown) = try await database.read { connection in
            (
                userID == otherID
                    ? []
                    : try RoomsDatabase.rooms(
                        sharedBy: userID, otherID, before: cursor, limit: PageLimits.maxMemberships, on: connection),
                try RoomsDatabase.isKnown(otherID, on: connection)
            )
        }
        if !isKnown {
            // Accounts alone knows those who were never in a room.
            let found = try await people.people([otherID], asRoommates: false, request.onward())
            guard found.contains(where: { $0.id == otherID }) else { throw ServiceError.userNotFound }
        }
        return Page(of: rooms, lookedFor: PageLimits.maxMemberships, id: \.id) { $0.membership.write(to: &$1) }.reply
    }
}
