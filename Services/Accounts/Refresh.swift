import Contracts
import ServiceKit

extension Accounts {
    /// `{refreshToken}` → a grant with the next one.
    ///
    /// A token works once. One that comes again was copied, by whom cannot be known: its session ends, for all its tokens.
    func refresh(_ fields: RequestFields) async throws -> Reply {
        guard let presented = RefreshToken(try fields.string("refreshToken")) else { throw Self.invalidToken }
        let next = session(
            RefreshToken(sessionID: presented.sessionID, randomness: randomness), SigningClient(fields))
        guard let (account, id) = try await database.exchange(presented, for: next) else { throw Self.invalidToken }
        return Reply(.ok, grant(account, next, id: id).json)
    }

    private static let invalidToken = ServiceError(.invalidToken, "This session has ended. Sign in again.")
}
