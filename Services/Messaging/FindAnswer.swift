import Contracts
import JSON
import ServiceKit
import Storage

extension Messaging {
    /// For other services: `{userId, roomIds}` → `{isAnswered}`: whether anybody but the person has ever written in one of these rooms.
    static func findAnswer(_ request: Request, on connection: any Connection) throws -> Reply {
        let userID = try request.fields.string("userId")
        let roomIDs = try request.fields.strings("roomIds", count: 0 ... .max)
        let isAnswered = try MessagingDatabase(connection).hasReceived(userID, in: roomIDs)
        return Reply(.ok, JSONWriter.object { $0.member("isAnswered", isAnswered) })
    }
}
