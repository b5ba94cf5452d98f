import Contracts
import ServiceKit

extension Rooms {
    /// `{roomId}` → the room, to those who are in it.
    func getRoom(_ request: Request) async throws -> Reply {
        let caller = try request.caller
        let room = try await room(try request.fields.string("roomId"))
        guard room.isOpen(to: caller.id) else { throw ServiceError.roomNotFound }
        return Reply(.ok, room.json)
    }
}
