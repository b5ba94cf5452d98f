import Contracts
import ServiceKit

extension Accounts {
    /// `{refreshToken}` → nothing. Ends the token's session, if it is the session's newest or the caller's own session: a client may have
    /// lost the answer that had the next one. Any other is no error, and ends nothing: whoever has an old one has no business with the
    /// session any more.
    func logout(_ fields: RequestFields) async throws -> Reply {
        if let token = RefreshToken(try fields.string("refreshToken")) {
            try await database.endSession(of: token, askedIn: SigningClient(fields).sessionID, at: clock.now())
        }
        return Reply(.noContent)
    }
}
