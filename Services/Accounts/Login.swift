import Contracts
import ServiceKit

extension Accounts {
    /// `{username, password}`, the first a username or an e-mail address → a grant.
    ///
    /// The answer and the time it takes are the same for a wrong password and for a person who does not exist.
    func login(_ fields: RequestFields, by deadline: ContinuousClock.Instant? = nil) async throws -> Reply {
        let name = try fields.string("username")
        let password = try fields.string("password")
        let client = SigningClient(fields)
        // Longer than any password can be: not worth the work, and no secret.
        guard password.utf8.count <= Password.lengths.upperBound else { throw Self.wrong }
        // Before anything is written: so that what is refused costs nothing, and what is counted is bounded by what is hashed.
        try passwords.admit(client)
        // A name that nobody can have is looked up no further; what follows costs the same.
        let canExist = name.utf8.count <= EmailAddress.maxLength && !name.hasForbiddenControls
        var known: AccountsDatabase.Credentials?
        let guess: AccountsDatabase.Guess?
        switch try await database.beginSigningIn(
            name, key: canExist ? name.lowercased() : nil, from: client, at: clock.now())
        {
        case .refused(let wait):
            throw ServiceError(.rateLimited, "Too many wrong passwords. Try again in \(wait) s.", retryAfter: wait)
        case .mayTry(let found, let counted): (known, guess) = (found, counted)
        }
        for _ in 1...Self.maxTries {
            let verdict: PasswordChecker.Verdict
            do {
                verdict = try await passwords.check(password, against: known?.passwordHash, for: client, by: deadline)
            } catch {
                // No guess, as nobody looked at it. If that cannot be written down, it counts.
                if let guess { try? await database.giveBack(guess, at: clock.now()) }
                throw error
            }
            guard let found = known, case .right(let raised) = verdict else { throw Self.wrong }
            let session = session(RefreshToken(randomness: randomness), client)
            let isDone = try await database.completeSigningIn(
                session, of: found.account.id, checked: found.passwordHash, raised: raised, guess)
            if isDone { return Reply(.ok, grant(found.account, session, id: session.publicID).json) }
            known = try await database.credentials(of: found.account.id)
        }
        throw Self.wrong
    }

    /// Another sign-in may make the hash anew while this one checks it, and the password may be changed.
    static let maxTries = 3
    private static let wrong = ServiceError(.invalidCredentials, "The username or the password is wrong.")
}
