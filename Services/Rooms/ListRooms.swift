import Contracts
import ServiceKit

extension Rooms {
    /// `{cursor?}` → the caller's rooms, those made last first. There is a `page` only if they don't fit one answer.
    func listRooms(_ request: Request) async throws -> Reply {
        let page = try await pageOfRooms(request)
        return Reply(.ok, page.json, page: page.cursor)
    }

    /// The caller's rooms from the request's cursor on.
    func pageOfRooms(_ request: Request) async throws -> RoomPage {
        let callerID = try request.caller.id
        let cursor = try request.fields.optionalString("cursor")
        return RoomPage(
            of: try await database.read {
                try RoomsDatabase.rooms(of: callerID, before: cursor, limit: RoomPage.maxCount, on: $0)
            })
    }
}
