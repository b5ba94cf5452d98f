import Contracts
import JSON
import ServiceKit

extension Rooms {
    /// For other services: `{userId, otherUserId}` → `{rooms: [Membership]}`, the rooms that both are in, none for a person
    /// and themselves.
    ///
    /// - Throws: `user_not_found` if the other is nobody.
    func listSharedRooms(_ request: Request) async throws -> Reply {
        let userID = try request.fields.string("userId")
        let otherID = try request.fields.string("otherUserId")
        guard otherID.mayBeID else { throw ServiceError.userNotFound }
        let (rooms, isKnown) = try await database.read { connection in
            (
                userID == otherID ? [] : try RoomsDatabase.rooms(sharedBy: userID, otherID, on: connection),
                try RoomsDatabase.isKnown(otherID, on: connection)
            )
        }
        if !isKnown {
            // Accounts alone knows those who were never in a room.
            let found = try await people.people([otherID], asRoommates: false, request.onward())
            guard found.contains(where: { $0.id == otherID }) else { throw ServiceError.userNotFound }
        }
        return Reply(
            .ok,
            JSONWriter.object { json in
                json.member("rooms", array: { for room in rooms { $0.value(room.membership.json) } })
            })
    }
}
