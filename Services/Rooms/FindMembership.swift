import Contracts
import ServiceKit
import Storage

extension Rooms {
    /// For other services: `{roomId}` → who is in the room. Whoever asks decides what it lets its caller do.
    static func findMembership(_ request: Request, on connection: any Connection) throws -> Reply {
        Reply(.ok, try room(try request.fields.string("roomId"), on: connection).membership.json)
    }
}
