import Contracts

extension Accounts {
    /// The caller, as they see themselves.
    func me(_ caller: Caller) async throws -> Reply {
        guard let account = try await database.account(caller.id) else {
            // A good token of a person who is not here: another database than the one it was made for.
            throw ServiceError(.unauthenticated, "This account is not known here. Sign in again.")
        }
        return Reply(.ok, account.person.json)
    }
}
