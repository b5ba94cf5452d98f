import Contracts
import ServiceKit
import Storage

extension Rooms {
    /// For gateways: `{cursor?}` → a page of the ids of the caller's rooms.
    static func listRoomIDs(_ request: Request, on connection: any Connection) throws -> Reply {
        let ids = try RoomsDatabase.roomIDs(
            of: try request.caller.id, after: try request.fields.optionalCursor(), limit: PageLimits.maxIDs,
            on: connection)
        return Page(of: ids, lookedFor: PageLimits.maxIDs, id: \.self) { $1.string($0) }.reply
    }
}
