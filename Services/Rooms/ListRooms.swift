import Contracts
import ServiceKit

extension Rooms {
    /// `{cursor?}` → the caller's rooms, those made last first. There is a `page` only if they don't fit one answer.
    func listRooms(_ request: Request) async throws -> Reply {
        try await pageOfRooms(request).reply
    }

    /// The caller's rooms from the request's cursor on.
    func pageOfRooms(_ request: Request) async throws -> Page<Room> {
        let callerID = try request.caller.id
        let cursor = try request.fields.optionalString("cursor")
        let rooms = try await database.read {
            try RoomsDatabase.rooms(of: callerID, before: cursor, limit: PageLimits.maxRooms, on: $0)
        }
        return Page(of: rooms, lookedFor: PageLimits.maxRooms, id: \.id) { $0.write(to: &$1) }
    }
}
