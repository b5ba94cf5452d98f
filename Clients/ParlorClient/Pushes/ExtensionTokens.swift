import Foundation

/// Returns the tokens of the app's session in an extension of the app, from the store that both share.
///
/// It returns the stored token if that is still valid. Otherwise it renews the session for the app too. The app
/// may do so at the same time: the store has one attempt id for the refresh, so both get the same answer, and
/// neither ends the other's session.
///
/// If the answer to a refresh is not stored within a minute, the session ends. So await ``settle()`` before the
/// extension ends. It never signs anybody out, and never changes a session that the app has replaced meanwhile.
public actor ExtensionTokens: TokenProvider {
    /// Covers clocks that differ, and the request's latency.
    private static let leeway: TimeInterval = 10
    /// The limit of requests for one refresh. An extension has less than half a minute.
    private static let maxTries = 3
    /// The longest pause before another try.
    private static let maxPause: Duration = .seconds(3)

    private let store: any SessionStore
    private let accounts: AccountsAPI
    private let clock: any ClientClock
    private let makeAttemptID: @Sendable () -> String
    /// From 0 up to 1.
    private let random: @Sendable () -> Double
    private var refreshing: Task<Session, any Error>?

    /// - Parameters:
    ///   - store: the app's, with ``SessionStore/exclusively(_:)``: a ``KeychainSessionStore`` with an access
    ///     group and a lock, or a ``FileSessionStore`` in the app group's container.
    ///   - makeAttemptID: makes a unique id for a refresh, 1 to 64 characters.
    ///   - random: from 0 up to 1; spreads the retries of many clients.
    public init(
        sharedIn store: any SessionStore, accounts: AccountsAPI, clock: any ClientClock = SystemClock(),
        makeAttemptID: @escaping @Sendable () -> String = { UUID().uuidString },
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        self.store = store
        self.accounts = accounts
        self.clock = clock
        self.makeAttemptID = makeAttemptID
        self.random = random
    }

    public func token() async throws -> String { try await token(unless: nil) }

    public func token(replacing refused: String) async throws -> String { try await token(unless: refused) }

    /// Returns when the refresh under way, if any, has been answered and its session is stored, or when it has
    /// failed.
    public func settle() async { _ = await refreshing?.result }

    private func token(unless refused: String?) async throws -> String {
        if let refreshing { return try await refreshing.valueUnlessCancelled.token }
        guard let session = try loaded().current else { throw ClientFailure.signedOut }
        if isGood(session, unless: refused) { return session.token }
        let task = Task {
            defer { refreshing = nil }
            return try await renew(session, unless: refused)
        }
        refreshing = task
        do {
            return try await task.valueUnlessCancelled.token
        } catch let failure as ClientFailure
            where failure.isRetryable && session.expiresAt > clock.now && session.token != refused
        {
            // The token is still valid for some seconds.
            return session.token
        }
    }

    private func isGood(_ session: Session, unless refused: String?) -> Bool {
        session.token != refused && session.expiresAt.timeIntervalSince(clock.now) > Self.leeway
    }

    private func renew(_ session: Session, unless refused: String?) async throws -> Session {
        guard let session = try sessionWithAttemptID(unless: refused) else { throw ClientFailure.signedOut }
        // The app has renewed it.
        guard session.refreshAttemptID != nil else { return session }
        var backoff = Backoff()
        var tries = 1
        while true {
            do {
                let renewed = try await accounts.refresh(session.refreshToken, attemptID: session.refreshAttemptID)
                return try keep(renewed, after: session)
            } catch let failure as ClientFailure where failure.isRetryable && tries < Self.maxTries {
                // The server may have renewed the session and the answer was lost. For a minute the same
                // request gets the same answer.
                tries += 1
                let pause = backoff.next(random: random(), atLeast: failure.retryAfter)
                // The app repeats it later. A notification must not wait for that.
                guard pause <= Self.maxPause else { throw failure }
                try await clock.sleep(for: pause)
            } catch ClientFailure.refused(let refusal) where refusal.isOfRefreshToken {
                // The app may have renewed the session in the meantime. If not, the app gets the same refusal;
                // only the app signs out.
                guard let current = try loaded().current, isGood(current, unless: session.token) else {
                    throw ClientFailure.signedOut
                }
                return current
            }
        }
    }

    /// Returns the stored session, with a stored attempt id unless its token is good.
    private func sessionWithAttemptID(unless refused: String?) throws -> Session? {
        try inStore {
            var kept = try store.load()
            guard let session = kept.current, session.refreshAttemptID == nil, !isGood(session, unless: refused)
            else { return kept.current }
            kept.current?.refreshAttemptID = makeAttemptID()
            try store.save(kept)
            return kept.current
        }
    }

    /// Stores a renewed session, unless the app has replaced the old one meanwhile.
    ///
    /// - Returns: the session in the store.
    private func keep(_ renewed: Session, after session: Session) throws -> Session {
        try inStore {
            var kept = try store.load()
            guard let current = kept.current, current.user.id == session.user.id else { throw ClientFailure.signedOut }
            guard current.refreshToken == session.refreshToken else { return current }
            kept.current = renewed
            try store.save(kept)
            return renewed
        }
    }

    private func loaded() throws -> KeptSessions {
        do {
            return try store.load()
        } catch {
            throw ClientFailure.offline("The session cannot be read on this device now: \(error)")
        }
    }

    private func inStore<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try store.exclusively(body)
        } catch let failure as ClientFailure {
            throw failure
        } catch {
            throw ClientFailure.offline("The session cannot be kept on this device now: \(error)")
        }
    }
}
