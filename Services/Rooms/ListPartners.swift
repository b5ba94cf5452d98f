import Contracts
import ServiceKit
import Storage

extension Rooms {
    /// For other services: `{userId, cursor?}` → a page of the ids of those who share a room with that person.
    static func listPartners(_ request: Request, on connection: any Connection) throws -> Reply {
        let partners = try RoomsDatabase.partners(
            of: try request.fields.string("userId"), after: try request.fields.optionalCursor(),
            limit: PageLimits.maxIDs, on: connection)
        return Page(of: partners, lookedFor: PageLimits.maxIDs, id: \.self) { $1.string($0) }.reply
    }
}
