import Foundation

/// Stores one session, renews it, and ends it.
///
/// The first caller in the last minute before the token expires renews the session. A token that the server
/// refuses also leads to a refresh. If the device's clock is so far ahead that new tokens seem expired, only
/// a refusal leads to a refresh. Callers that come during a refresh wait for it. A refresh is never cancelled: its
/// token works once, and its answer is the new session.
///
/// Each refresh has an attempt id, which is stored before the request. If the answer is lost or the app ends,
/// the refresh is repeated with that id, and the server gives the same answer, until its new token is used.
///
/// An extension of the app may renew the same session with ``ExtensionTokens``. So each change reads the store
/// first and continues with the newer session. If both renew the session at once, they use the same attempt id
/// and get the same answer. Only one process may use this type for a store.
package actor SessionTokens: TokenProvider {
    /// Covers clocks that differ, and the request's latency. For a token that is valid for less than two minutes, the
    /// leeway is half of that time.
    static let longestLeeway: TimeInterval = 60

    let accounts: AccountsAPI
    let clock: any ClientClock
    let log: ClientLog
    /// The person whose session was stored at the start; nil if nobody was signed in.
    nonisolated let restoredUser: Person?
    private let store: any SessionStore
    private let makeAttemptID: @Sendable () -> String
    /// Returns a number from 0 up to 1.
    let random: @Sendable () -> Double
    /// The sessions as they are used here. While `storeFailure` is set, the store lacks their last change.
    private(set) var kept: KeptSessions
    /// The current session in the store, when it was last read or written here.
    private var stored: Session?
    /// True if a person has signed in and the store does not have that session yet. The store's session is
    /// then an earlier one, even if an extension has just renewed it, and is not taken over.
    private var replacesStored = false
    /// The error of the last change of the store; nil if the store has the sessions in `kept`.
    private(set) var storeFailure: (any Error)?
    /// The time before expiry at which to renew; nil to wait for a refusal.
    private var leeway: TimeInterval? = SessionTokens.longestLeeway
    private var refreshing: Task<Session, any Error>?
    /// The task that ends sessions on the server, until none is left.
    var ending: Task<Void, Never>?
    /// The pause after a failed try to end a session.
    var endingPause: Task<Void, any Error>?
    /// The request in progress that unregisters the device of an ending session.
    var deviceRemoval: (userID: String, task: Task<Void, any Error>)?

    /// Continues with the store's current session, and ends those that were signed out.
    ///
    /// - Parameters:
    ///   - makeAttemptID: returns a unique id for a refresh, 1 to 64 characters.
    ///   - random: returns a number from 0 up to 1, which spreads the retries of many clients.
    /// - Throws: the store's error.
    package init(
        keptIn store: any SessionStore, accounts: AccountsAPI, clock: any ClientClock = SystemClock(),
        log: ClientLog = .system,
        makeAttemptID: @escaping @Sendable () -> String = { UUID().uuidString },
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) throws {
        kept = try store.load()
        stored = kept.current
        restoredUser = kept.current?.user
        self.store = store
        self.accounts = accounts
        self.clock = clock
        self.log = log
        self.makeAttemptID = makeAttemptID
        self.random = random
        guard !kept.ending.isEmpty else { return }
        Task { await endSessions() }
    }

    /// The current session; nil if nobody is signed in.
    package var session: Session? { kept.current }

    package func isSignedIn() -> Bool { kept.current != nil }

    /// Uses the session of a person who has signed in. nil forgets it on this device only:
    /// ``signOut(device:)`` also ends it on the server.
    package func use(_ session: Session?) async {
        refreshing = nil
        replacesStored = true
        change { $0.current = session }
        noteRenewal()
        guard let session else { return }
        noteConnection()
        // An unregistration that finishes later could remove the device that the person is about to register.
        if let deviceRemoval, deviceRemoval.userID == session.user.id { _ = await deviceRemoval.task.result }
    }

    /// Sets the leeway for a session that the server has just sent.
    private func noteRenewal() {
        let life = kept.current?.expiresAt.timeIntervalSince(clock.now) ?? 0
        // A new token that already seems expired shows that this clock is ahead, so the expiry time is
        // useless.
        leeway = life > 0 ? min(Self.longestLeeway, life / 2) : nil
    }

    // MARK: The store

    /// Changes the sessions here and in the store. The body gets the newer of the two current sessions.
    ///
    /// - Returns: false if the store fails. The next change and the next token try it again.
    @discardableResult
    func change(_ body: (inout KeptSessions) -> Void) -> Bool {
        var isChanged = false
        do {
            try store.exclusively {
                let before = try store.load()
                takeOver(before.current)
                stored = before.current
                body(&kept)
                isChanged = true
                if kept != before { try store.save(kept) }
                stored = kept.current
                replacesStored = false
            }
            storeFailure = nil
        } catch {
            if !isChanged { body(&kept) }
            storeFailure = error
            log.error(.session, "not stored", for: error)
        }
        return storeFailure == nil
    }

    /// Continues with the session that another process has put into the store. It is newer than the one here. Each
    /// process reads the store and stores the attempt id before it renews a session, so the session in the store was
    /// renewed from the one here.
    private func takeOver(_ session: Session?) {
        guard let session, session != stored, !replacesStored else { return }
        guard let own = kept.current, own.user.id == session.user.id else { return }
        kept.current = session
        refreshing = nil
        // An old token that has expired says nothing about the clock.
        let life = session.expiresAt.timeIntervalSince(clock.now)
        leeway = life > 0 ? min(Self.longestLeeway, life / 2) : Self.longestLeeway
    }

    /// Repeats a change that the store has failed to save.
    func saveAgain() { if storeFailure != nil { change { _ in } } }

    // MARK: Tokens

    package func token() async throws -> String { try await token(of: nil) }

    package func token(replacing refused: String) async throws -> String {
        try await token(replacing: refused, of: nil)
    }

    /// A client of this person gets no token of anybody else who signs in later.
    package nonisolated func tokens(of personID: String) -> any TokenProvider {
        PersonTokens(sessions: self, personID: personID)
    }

    /// Returns a token of this person.
    ///
    /// - Parameter personID: nil for whoever is signed in.
    func token(of personID: String?) async throws -> String {
        saveAgain()
        let session = try session(of: personID)
        guard isEnding(session) else { return session.token }
        do {
            return try await refresh(replacing: session.token)
        } catch let failure as ClientFailure where failure.isRetryable && session.expiresAt > clock.now {
            // The token is still valid for some seconds.
            return session.token
        }
    }

    func token(replacing refused: String, of personID: String?) async throws -> String {
        let session = try session(of: personID)
        return session.token == refused ? try await refresh(replacing: refused) : session.token
    }

    private func session(of personID: String?) throws -> Session {
        guard let session = kept.current, personID == nil || session.user.id == personID else {
            throw ClientFailure.signedOut
        }
        return session
    }

    private func isEnding(_ session: Session) -> Bool {
        guard let leeway else { return false }
        return session.expiresAt.timeIntervalSince(clock.now) <= leeway
    }

    /// Returns when the refresh in progress, if any, has been answered and its session is stored.
    package func settle() async { _ = await refreshing?.result }

    private func refresh(replacing token: String) async throws -> String {
        if let refreshing { return try await refreshing.valueUnlessCancelled.token }
        guard let session = try sessionWithAttemptID(replacing: token) else { throw ClientFailure.signedOut }
        // Another process has renewed it.
        guard session.refreshAttemptID != nil else { return session.token }
        let task = Task { try await renew(session) }
        refreshing = task
        return try await task.valueUnlessCancelled.token
    }

    /// Returns the session with a stored attempt id, without which a refresh cannot be repeated. If another
    /// process has already renewed the session, it returns that one, without an id.
    private func sessionWithAttemptID(replacing token: String) throws -> Session? {
        var isNew = false
        let isStored = change { kept in
            guard let session = kept.current, session.refreshAttemptID == nil,
                session.token == token || isEnding(session)
            else { return }
            kept.current?.refreshAttemptID = makeAttemptID()
            isNew = true
        }
        guard isStored else {
            if isNew { kept.current?.refreshAttemptID = nil }
            throw ClientFailure.offline("The session cannot be stored on this device now.")
        }
        return kept.current
    }

    /// Returns an attempt id for an ending session.
    func attemptID() -> String { makeAttemptID() }

    private func renew(_ session: Session) async throws -> Session {
        let outcome: Result<Session, any Error>
        do {
            outcome = .success(
                try await accounts.refresh(session.refreshToken, attemptID: session.refreshAttemptID))
        } catch {
            outcome = .failure(error)
        }
        // The person has signed in or out meanwhile, or another process has renewed the session, so this answer
        // is obsolete.
        guard kept.current == session else { return try successor(of: session) }
        refreshing = nil
        switch outcome {
        case .success(let renewed):
            log.info(.session, "refreshed")
            replace(session, by: renewed)
            noteConnection()
            return try successor(of: session)
        case .failure(ClientFailure.refused(let refusal)) where refusal.isOfRefreshToken:
            log.error(.session, "ended", for: ClientFailure.refused(refusal))
            replace(session, by: nil)
            return try successor(of: session)
        case .failure(let error):
            log.warning(.session, "not refreshed", for: error)
            throw error
        }
    }

    /// Replaces a session, unless another process has already done so.
    private func replace(_ session: Session, by other: Session?) {
        var isReplaced = false
        change { kept in
            guard kept.current == session else { return }
            kept.current = other
            isReplaced = true
        }
        if isReplaced { noteRenewal() }
    }

    /// Returns the current session of the same person.
    ///
    /// - Throws: `ClientFailure.signedOut` if the person has signed out, or somebody else has signed in.
    private func successor(of session: Session) throws -> Session {
        guard let current = kept.current, current.user.id == session.user.id else { throw ClientFailure.signedOut }
        return current
    }

    /// Abandons the refresh in progress, because its answer is obsolete.
    func forgetRefresh() { refreshing = nil }
}

extension Refusal {
    /// True if the server will never accept this token. Any other refusal may be temporary, or a proxy's, and ends no
    /// session.
    var isOfRefreshToken: Bool { code == "invalid_token" }
}
