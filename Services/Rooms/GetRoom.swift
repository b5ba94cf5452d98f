import Contracts
import ServiceKit
import Storage

extension Rooms {
    /// `{roomId}` → the room, to those who are in it.
    static func getRoom(_ request: Request, on connection: any Connection) throws -> Reply {
        let caller = try request.caller
        let room = try room(try request.fields.string("roomId"), on: connection)
        guard room.membership.participant(caller.id) != nil else { throw ServiceError.roomNotFound }
        return Reply(.ok, room.json)
    }
}
