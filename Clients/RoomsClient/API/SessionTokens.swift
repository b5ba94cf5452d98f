import Foundation

/// Keeps one session, renews it, and ends it.
///
/// It is renewed a minute before its token expires, by whoever asks then, and when the server refuses the token; by a clock that is
/// so far ahead that new tokens seem to be over, then alone. Those who ask meanwhile wait for the same refresh. A refresh is never
/// cancelled: its token works once, and the answer to it is the session.
///
/// A refresh has a name, which is kept before the server is asked. If the answer is lost, or the app ends before it, the same refresh
/// is asked for again, and a server gives the same answer for a minute.
public actor SessionTokens: TokenProvider {
    /// Room for clocks that differ, and for the request's own way. Of a token that lives for less than two minutes, half its life.
    static let longestLeeway: TimeInterval = 60

    let accounts: AccountsAPI
    let clock: any ClientClock
    private let store: any SessionStore
    private let makeAttemptID: @Sendable () -> String
    /// From 0 up to 1.
    let random: @Sendable () -> Double
    private(set) var kept: KeptSessions
    /// Why the store has refused to save the sessions above; nil if it has them.
    private(set) var storeFailure: (any Error)?
    /// How long before its end it is renewed; nil: not before the server refuses it.
    private var leeway: TimeInterval? = SessionTokens.longestLeeway
    private var refreshing: Task<Session, any Error>?
    /// Ends sessions at the server, until it has ended all.
    var ending: Task<Void, Never>?
    /// Of the pause after a try that has failed.
    var endingPause: Task<Void, any Error>?
    /// The request under way that takes the device of an ending session off push.
    var deviceRemoval: (userID: String, task: Task<Void, any Error>)?

    /// Continues with the store's sessions. It asks the server to end those that were signed out of.
    ///
    /// - Parameters:
    ///   - makeAttemptID: names a refresh: 1 to 64 characters, no two alike.
    ///   - random: from 0 up to 1; spreads those who try again.
    /// - Throws: the store's error.
    public init(
        keptIn store: any SessionStore, accounts: AccountsAPI, clock: any ClientClock = SystemClock(),
        makeAttemptID: @escaping @Sendable () -> String = { UUID().uuidString },
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) throws {
        kept = try store.load()
        self.store = store
        self.accounts = accounts
        self.clock = clock
        self.makeAttemptID = makeAttemptID
        self.random = random
        guard !kept.ending.isEmpty else { return }
        Task { await endSessions() }
    }

    /// For an app that keeps the session itself. A sign-out that has not reached the server is lost with the process then: an app that
    /// must not lose one has a ``SessionStore``.
    ///
    /// - Parameters:
    ///   - session: as it was kept; nil if nobody is signed in.
    ///   - onChange: called with each new session before its token is given out, with the session before each refresh, which has a
    ///     name then, and with nil when it is over: to keep it in the keychain. It has to be kept before this returns.
    public init(
        _ session: Session? = nil, accounts: AccountsAPI, clock: any ClientClock = SystemClock(),
        makeAttemptID: @escaping @Sendable () -> String = { UUID().uuidString },
        onChange: @escaping @Sendable (Session?) -> Void
    ) {
        kept = KeptSessions(current: session)
        store = ClosureSessionStore(session, onChange: onChange)
        self.accounts = accounts
        self.clock = clock
        self.makeAttemptID = makeAttemptID
        random = { .random(in: 0..<1) }
    }

    public var session: Session? { kept.current }

    /// Uses the session of somebody who has signed in. nil forgets it on this device alone: ``signOut(device:)`` ends it at the server.
    public func use(_ session: Session?) async {
        refreshing = nil
        keep(session)
        guard let session else { return }
        noteConnection()
        // Answered later, it would take the device off push that the person registers next.
        if let deviceRemoval, deviceRemoval.userID == session.user.id { _ = await deviceRemoval.task.result }
    }

    private func keep(_ session: Session?) {
        kept.current = session
        let life = session?.expiresAt.timeIntervalSince(clock.now) ?? 0
        // A new one that is over already shows that this clock is ahead: it says nothing of when the token ends.
        leeway = life > 0 ? min(Self.longestLeeway, life / 2) : nil
        save()
    }

    /// - Returns: false if the store refuses; it is tried again with the next change, and before the next token.
    @discardableResult
    func save() -> Bool {
        do {
            try store.save(kept)
            storeFailure = nil
        } catch {
            storeFailure = error
        }
        return storeFailure == nil
    }

    /// Saves what the store has refused before.
    func saveAgain() { if storeFailure != nil { save() } }

    func change(_ body: (inout KeptSessions) -> Void) -> Bool {
        body(&kept)
        return save()
    }

    // MARK: Tokens

    public func token() async throws -> String {
        saveAgain()
        guard let session = kept.current else { throw ClientFailure.signedOut }
        let left = session.expiresAt.timeIntervalSince(clock.now)
        guard let leeway, left <= leeway else { return session.token }
        do {
            return try await refresh()
        } catch let failure as ClientFailure where failure.isRetryable && left > 0 {
            // It is good for some seconds yet.
            return session.token
        }
    }

    public func token(replacing refused: String) async throws -> String {
        guard let session = kept.current else { throw ClientFailure.signedOut }
        return session.token == refused ? try await refresh() : session.token
    }

    /// Returns when the refresh that is under way, if any, has been answered, and its session is stored.
    public func settle() async { _ = await refreshing?.result }

    private func refresh() async throws -> String {
        if let refreshing { return try await refreshing.valueUnlessCancelled.token }
        guard let session = try named() else { throw ClientFailure.signedOut }
        let task = Task { try await renew(session) }
        refreshing = task
        return try await task.valueUnlessCancelled.token
    }

    /// The session with the name of its refresh, which is stored: a refresh can be repeated under its name alone.
    private func named() throws -> Session? {
        guard var session = kept.current else { return nil }
        guard session.refreshAttemptID == nil else { return session }
        session.refreshAttemptID = makeAttemptID()
        guard change({ $0.current = session }) else {
            kept.current?.refreshAttemptID = nil
            throw ClientFailure.offline("The session cannot be kept on this device now.")
        }
        return session
    }

    /// A name for the refresh of a session that is to be ended.
    func attemptID() -> String { makeAttemptID() }

    private func renew(_ session: Session) async throws -> Session {
        let outcome: Result<Session, any Error>
        do {
            outcome = .success(
                try await accounts.refresh(session.refreshToken, attemptID: session.refreshAttemptID))
        } catch {
            outcome = .failure(error)
        }
        // Somebody has signed in meanwhile, or out: this answer is nobody's.
        guard kept.current == session else {
            guard let current = kept.current, current.user.id == session.user.id else { throw ClientFailure.signedOut }
            return current
        }
        refreshing = nil
        switch outcome {
        case .success(let renewed):
            keep(renewed)
            noteConnection()
            return renewed
        case .failure(ClientFailure.refused(let refusal)) where refusal.isOfRefreshToken:
            keep(nil)
            throw ClientFailure.signedOut
        case .failure(let error): throw error
        }
    }

    /// A refresh that was under way belongs to nobody any more.
    func forgetRefresh() { refreshing = nil }
}

extension Refusal {
    /// The server will not take this token, whenever it is asked: it is used, revoked, or no token. Any other refusal may pass.
    var isOfRefreshToken: Bool {
        ["invalid_token", "unauthenticated", "invalid_field", "malformed_request"].contains(code)
    }
}
