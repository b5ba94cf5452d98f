import Contracts
import ServiceKit

extension Rooms {
    /// For other services: `{roomId}` → who is in the room. Whoever asks decides what it lets its caller do.
    func findMembership(_ request: Request) async throws -> Reply {
        Reply(.ok, try await room(try request.fields.string("roomId")).membership.json)
    }
}
