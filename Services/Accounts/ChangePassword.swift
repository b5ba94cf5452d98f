import ParlorContracts
import ParlorServiceKit
import ParlorStorage

extension RequestDescription {
    static let changePassword = RequestDescription(
        "Changes the caller's password, and ends all other sessions.",
        takes: Accounts.passwords, gives: Grant.schema, errors: [.invalidCredentials, .invalidField])
}

extension Accounts {
    fileprivate static let passwords = Fields(
        .string("currentPassword"), Password.field("newPassword"))

    /// Changes the caller's password, and returns a grant of the same session; every other session ends.
    func changePassword(
        _ fields: RequestFields, _ caller: Caller, by deadline: ContinuousClock.Instant? = nil
    ) async throws -> Reply {
        let (current, new) = try Self.passwords.read(fields)
        let client = SigningClient(fields)
        guard var known = try await credentials(of: caller.id) else { throw Self.signInAgain }
        for _ in 1...Self.maxTries {
            guard
                let hash = try await passwords.replace(
                    current, by: new, against: known.passwordHash, for: client, by: deadline)
            else { throw ServiceError(.invalidCredentials, "The current password is wrong.") }
            let changed = try await database.write { [self, known] connection in
                try SessionsStore(connection).changePassword(
                    from: known.passwordHash, to: hash, of: caller.id, in: client.sessionID
                ) { sessionID in
                    session(
                        sessionID.map { RefreshToken(sessionID: $0, randomness: randomness) }
                            ?? RefreshToken(randomness: randomness), client)
                }
            }
            if let changed { return Reply(.ok, grant(known.account, changed.session, id: changed.id).json) }
            let latest = try await credentials(of: caller.id)
            // If the account is gone, or the hash is unchanged, then the session has ended: do not retry.
            guard let latest, latest.passwordHash != known.passwordHash else { throw Self.signInAgain }
            known = latest
        }
        throw Self.signInAgain
    }

    static let signInAgain = ServiceError(.unauthenticated, "This session has ended. Sign in again.")

    private func credentials(of personID: String) async throws -> PeopleStore.Credentials? {
        try await database.read { try PeopleStore($0).credentials(of: personID) }
    }
}
