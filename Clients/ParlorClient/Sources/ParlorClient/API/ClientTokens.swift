/// The tokens of one client's person. Once the client has signed out, there are none.
///
/// Several clients, one after the other, may use one ``TokenProvider``. After `signOut(device:)`, the provider may have
/// the session of the next person, or a later one of the same person. This client neither uses nor ends that session.
final class ClientTokens: TokenProvider {
    private let tokens: any TokenProvider
    private let hasEnded = Guarded(false)
    /// True once the provider has accepted the sign-out.
    private let isSignOutStored = Guarded(false)

    init(_ tokens: any TokenProvider, of personID: String) { self.tokens = tokens.tokens(of: personID) }

    func token() async throws -> String { try await unlessEnded { try await tokens.token() } }

    func token(replacing refused: String) async throws -> String {
        try await unlessEnded { try await tokens.token(replacing: refused) }
    }

    func isSignedIn() async -> Bool {
        if hasEnded.withLock({ $0 }) { return false }
        return await tokens.isSignedIn()
    }

    func settle() async { await tokens.settle() }

    /// Signs out. A repeated call only completes a sign-out that could not be stored.
    func signOut(device token: String?) async throws {
        hasEnded.withLock { $0 = true }
        if isSignOutStored.withLock({ $0 }) { return }
        try await tokens.signOut(device: token)
        isSignOutStored.withLock { $0 = true }
    }

    private func unlessEnded(_ token: () async throws -> String) async throws -> String {
        try check()
        let token = try await token()
        // Meanwhile, the client may have signed out, and somebody else may have signed in.
        try check()
        return token
    }

    private func check() throws {
        if hasEnded.withLock({ $0 }) { throw ClientFailure.signedOut }
    }
}

/// The tokens of one person in ``SessionTokens``. While somebody else is signed in, there are none.
struct PersonTokens: TokenProvider {
    let sessions: SessionTokens
    let personID: String
    private let hasEnded = Guarded(false)

    init(sessions: SessionTokens, personID: String) {
        self.sessions = sessions
        self.personID = personID
    }

    func token() async throws -> String { try await sessions.token(of: personID) }

    func token(replacing refused: String) async throws -> String {
        try await sessions.token(replacing: refused, of: personID)
    }

    func isSignedIn() async -> Bool { await sessions.session?.user.id == personID }

    func settle() async { await sessions.settle() }

    /// Signs out. A repeated call ends no session, because the person may have signed in since.
    func signOut(device token: String?) async throws {
        let isRepeated = hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return hasEnded
        }
        if isRepeated { try await sessions.storeSignOut() } else { try await sessions.signOut(personID, device: token) }
    }
}
