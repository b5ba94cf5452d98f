import Contracts
import ServiceKit

extension Push {
    /// Forgets a device of the caller's; another's, or an unknown one, stays as it is, and nobody can tell which it was.
    func unregisterDevice(_ request: Request) async throws -> Reply {
        let caller = try request.caller
        let token = try request.fields.string("token")
        // No such token was ever stored, and a database need not take one.
        guard (try? DeviceToken(token)) != nil else { return Reply(.noContent) }
        try await database.write { try PushDatabase($0).remove(token, of: caller.id) }
        return Reply(.noContent)
    }
}
