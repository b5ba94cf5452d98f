import Contracts
import ServiceKit

extension Accounts {
    /// `{refreshToken}` → nothing. Ends the token's session; one that has ended, or was never there, is no error.
    func logout(_ fields: RequestFields) async throws -> Reply {
        if let token = RefreshToken(try fields.string("refreshToken")) {
            try await database.endSession(token.sessionID)
        }
        return Reply(.noContent)
    }
}
