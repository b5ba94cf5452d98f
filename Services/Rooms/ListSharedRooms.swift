import ParlorContracts
import ParlorServiceKit

extension Rooms {
    /// Lists the rooms that two people share, for other services: `{userId, otherUserId, idsOnly?, cursor?}`
    /// → a page of Memberships, or of ids; none for a person and themselves.
    ///
    /// - Throws: `user_not_found` if the other person does not exist.
    func listSharedRooms(_ request: Request) async throws -> Reply {
        let userID = try request.fields.string("userId")
        let otherID = try request.fields.string("otherUserId")
        let cursor = try request.fields.optionalCursor()
        let idsOnly = try request.fields.optionalBool("idsOnly") ?? false
        guard otherID.mayBeID else { throw ServiceError.userNotFound }
        let (page, isKnown) = try await database.read { connection in
            let store = RoomsStore(connection)
            let page =
                if userID == otherID {
                    Reply(.ok, .emptyArray)
                } else if idsOnly {
                    Page(try store.roomIDs(sharedBy: userID, otherID, after: cursor, limit: PageLimits.maxIDs)).reply
                } else {
                    Self.memberships(
                        try store.rooms(sharedBy: userID, otherID, before: cursor, limit: PageLimits.maxMemberships))
                }
            return (page, try store.isKnown(otherID))
        }
        if !isKnown { try await requireAccount(otherID, request) }
        return page
    }

    private static func memberships(_ rooms: [Room]) -> Reply {
        Page(of: rooms, lookedFor: PageLimits.maxMemberships, id: \.id) { $0.membership.write(to: &$1) }.reply
    }

    /// Checks that a person exists. Only Accounts knows those who were never in a room.
    private func requireAccount(_ id: String, _ request: Request) async throws {
        let found = try await people.people([id], asRoommates: false, request.onward())
        guard found.contains(where: { $0.id == id }) else { throw ServiceError.userNotFound }
    }
}
