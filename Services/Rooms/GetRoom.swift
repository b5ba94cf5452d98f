import Contracts
import ServiceKit

extension Rooms {
    /// `{roomId}` → the room, to those who are in it.
    func getRoom(_ request: Request) async throws -> Reply {
        let caller = try request.caller
        let room = try await room(try request.fields.string("roomId"))
        guard room.membership.participant(caller.id) != nil else { throw ServiceError.roomNotFound }
        return Reply(.ok, room.json)
    }
}
