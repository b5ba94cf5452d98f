import Contracts
import ServiceKit

extension Accounts {
    /// `{username, password}`, the first a username or an e-mail address → a grant.
    ///
    /// The answer and the time it takes are the same for a wrong password and for a person who does not exist.
    func login(_ fields: RequestFields) async throws -> Reply {
        let name = try fields.string("username")
        let password = try fields.string("password")
        // A name that nobody can have is looked up no further; what follows costs the same.
        let known =
            name.utf8.count <= EmailAddress.maxLength && !name.utf8.contains(0)
            ? try await database.credentials(name) : nil
        let isRight = try await passwords.check(password, against: known?.passwordHash)
        guard let known, isRight else {
            throw ServiceError(.invalidCredentials, "The username or the password is wrong.")
        }
        let session = session(RefreshToken(randomness: randomness))
        try await database.addSession(session, of: known.account.id)
        return Reply(.ok, grant(known.account, session).json)
    }
}
