import Contracts
import ServiceKit
import Storage

extension Rooms {
    /// `{cursor?}` → the caller's rooms, those made last first. There is a `page` only if they don't fit one answer.
    static func listRooms(_ request: Request, on connection: any Connection) throws -> Reply {
        try pageOfRooms(request, on: connection).reply
    }

    /// The caller's rooms from the request's cursor on.
    static func pageOfRooms(_ request: Request, on connection: any Connection) throws -> Page<Room> {
        let rooms = try RoomsDatabase.rooms(
            of: try request.caller.id, before: try request.fields.optionalCursor(), limit: PageLimits.maxRooms,
            on: connection)
        return Page(of: rooms, lookedFor: PageLimits.maxRooms, id: \.id) { $0.write(to: &$1) }
    }
}
