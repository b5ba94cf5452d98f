import ParlorContracts
import ParlorServiceKit
import ParlorStorage

extension RequestDescription {
    static let register = RequestDescription(
        "Creates an account, and signs in.",
        takes: Accounts.newPerson, gives: Grant.schema, statuses: [.created],
        errors: [.usernameTaken, .emailTaken, .forbidden, .invalidField])
    static let login = RequestDescription(
        "Signs in.", takes: Accounts.credentials, gives: Grant.schema, errors: [.invalidCredentials, .invalidField])
}

/// Registration and sign-in.
extension Accounts {
    fileprivate static let newPerson = Fields(
        .string("username", Username.schema, Username.init), Password.field("password"),
        .optional(.string("firstName", FirstName.schema, FirstName.init)),
        .optional(email, or: nil))
    // A form that was left empty sends "".
    private static let email = Field.string("email") { text throws(ServiceError) in
        text.isEmpty ? nil : try EmailAddress(text)
    }

    fileprivate static let credentials = Fields(
        .string("username", note: "The username or the e-mail address."), .string("password"))

    /// Registers a person, and signs them in.
    func register(_ fields: RequestFields, by deadline: ContinuousClock.Instant? = nil) async throws -> Reply {
        guard openness.registration == .open else {
            throw ServiceError(.forbidden, "Nobody can create an account here.")
        }
        let (username, password, firstName, email) = try Self.newPerson.read(fields)
        let client = SigningClient(fields)
        let newcomer = PeopleStore.Newcomer(
            id: ids.next(at: clock.now().milliseconds), username: username, firstName: firstName, email: email,
            passwordHash: try await passwords.hash(password, for: client, by: deadline))
        let session = session(RefreshToken(randomness: randomness), client)
        let registration = try await database.write { try PeopleStore($0).register(newcomer, session) }
        switch registration {
        case .usernameTaken: throw ServiceError(.usernameTaken, "This username belongs to someone already.")
        case .emailTaken: throw ServiceError(.emailTaken, "This e-mail address belongs to someone already.")
        case .done: break
        }
        let account = Account(
            id: newcomer.id, username: username.text, firstName: firstName?.text, email: email?.text)
        return Reply(.created, grant(account, session, id: session.publicID).json)
    }

    /// Signs a person in.
    ///
    /// The answer and its time are the same for a wrong password and for a person who does not exist.
    func login(_ fields: RequestFields, by deadline: ContinuousClock.Instant? = nil) async throws -> Reply {
        let (given, password) = try Self.credentials.read(fields)
        let name = given.trimmed
        let client = SigningClient(fields)
        // A longer text is no password: it is not worth the work, and its length is no secret.
        guard Password.mayBeOne(password) else { throw Self.wrong }
        // Check this before anything is written. So a request that is refused here costs nothing and counts no guess.
        try passwords.admit(client)
        // A text that cannot be a name is not looked up, but the password is hashed, so that the answer takes as long.
        let canExist = name.utf8.count <= EmailAddress.maxLength && !name.hasForbiddenControls
        let known: PeopleStore.Credentials?
        let guess: GuessesStore.Guess?
        switch try await beginSigningIn(name, key: canExist ? name.lowercased() : nil, from: client) {
        case .refused(let wait):
            throw ServiceError(.rateLimited, "Too many wrong passwords. Try again in \(wait) s.", retryAfter: wait)
        case .mayTry(let found, let counted): (known, guess) = (found, counted)
        }
        do {
            let granted = try await completeSigningIn(known, password, guess, from: client, by: deadline)
            return Reply(.ok, granted.json)
        } catch {
            // The password was not checked, or it was right and the session could not be stored. So refund the guess. If
            // the refund cannot be stored, the guess stays counted.
            if let guess, error as? ServiceError != Self.wrong {
                try? await database.write(.relaxed) { try GuessesStore($0).uncount(guess) }
            }
            throw error
        }
    }

    /// - Throws: `wrong`, if the password is.
    private func completeSigningIn(
        _ credentials: PeopleStore.Credentials?, _ password: String, _ guess: GuessesStore.Guess?,
        from client: SigningClient, by deadline: ContinuousClock.Instant?
    ) async throws -> Grant {
        var known = credentials
        for _ in 1...Self.maxTries {
            let verdict = try await passwords.check(
                password, against: known?.passwordHash, for: client, by: deadline)
            guard let found = known, case .right(let raised) = verdict else { throw Self.wrong }
            let session = session(RefreshToken(randomness: randomness), client)
            let isDone = try await database.write {
                try GuessesStore($0).completeSigningIn(
                    session, of: found.account.id, checked: found.passwordHash, raised: raised, guess)
            }
            if isDone { return grant(found.account, session, id: session.publicID) }
            known = try await database.read { try PeopleStore($0).credentials(of: found.account.id) }
        }
        throw Self.wrong
    }

    private func beginSigningIn(
        _ name: String, key: String?, from client: SigningClient
    ) async throws -> GuessesStore.SigningIn {
        guard client.isLimited else {
            return .mayTry(
                try await database.read { connection in
                    try key.flatMap { try PeopleStore(connection).credentials(named: $0) }
                }, nil)
        }
        let now = clock.now()
        // A power cut may lose recent counts; that is acceptable, so this write does not wait for a sync.
        return try await database.write(.relaxed) {
            try GuessesStore($0).beginSigningIn(name, key: key, from: client, at: now)
        }
    }

    /// The limit of attempts: another sign-in may replace the hash while this one checks it, and the password
    /// may be changed.
    static let maxTries = 3
    private static let wrong = ServiceError(.invalidCredentials, "The username or the password is wrong.")
}
