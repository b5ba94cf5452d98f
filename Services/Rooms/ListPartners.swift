import Contracts
import JSON
import ServiceKit

extension Rooms {
    /// For other services: `{userId}` → the ids of those who share a room with that person.
    func listPartners(_ request: Request) async throws -> Reply {
        let userID = try request.fields.string("userId")
        let partners = try await database.read { try RoomsDatabase.partners(of: userID, on: $0) }
        return Reply(.ok, JSONWriter.value { $0.array(of: partners) { json, id in json.string(id) } })
    }
}
