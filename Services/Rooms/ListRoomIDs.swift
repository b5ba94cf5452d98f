import Contracts
import ServiceKit

extension Rooms {
    /// For gateways: `{cursor?}` → a page of the ids of the caller's rooms.
    func listRoomIDs(_ request: Request) async throws -> Reply {
        let callerID = try request.caller.id
        let cursor = try request.fields.optionalString("cursor")
        let ids = try await database.read {
            try RoomsDatabase.roomIDs(of: callerID, after: cursor, limit: PageLimits.maxIDs, on: $0)
        }
        return Page(of: ids, lookedFor: PageLimits.maxIDs, id: \.self) { $1.string($0) }.reply
    }
}
