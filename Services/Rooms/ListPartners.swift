import Contracts
import ServiceKit

extension Rooms {
    /// For other services: `{userId, cursor?}` → a page of the ids of those who share a room with that person.
    func listPartners(_ request: Request) async throws -> Reply {
        let userID = try request.fields.string("userId")
        let cursor = try request.fields.optionalString("cursor")
        let partners = try await database.read {
            try RoomsDatabase.partners(of: userID, after: cursor, limit: PageLimits.maxIDs, on: $0)
        }
        return Page(of: partners, lookedFor: PageLimits.maxIDs, id: \.self) { $1.string($0) }.reply
    }
}
