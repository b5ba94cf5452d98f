import Foundation

/// The tokens of the app's session, for an extension of the app. Both share one store.
///
/// It returns the stored token while that is valid. Otherwise it renews the session, also for the app. The app may
/// do so at the same time: the store has one attempt id for the refresh, so both get the same answer, and neither
/// ends the other's session.
///
/// Await ``settle()`` before the extension ends, so that the answer to a refresh is stored. The extension never signs
/// anybody out, and never changes a session that the app has replaced meanwhile.
package actor ExtensionTokens: TokenProvider {
    /// A token that expires within this time, in seconds, is renewed. This covers clocks that differ, and the time that
    /// a request takes.
    private static let leeway: TimeInterval = 10
    /// The maximum number of requests for one refresh, because an extension has less than half a minute.
    private static let maxTries = 3
    /// The longest pause before another request. A server that asks for a longer one is not asked again.
    private static let maxPause: Duration = .seconds(3)

    private let store: any SessionStore
    private let accounts: AccountsAPI
    private let clock: any ClientClock
    private let makeAttemptID: @Sendable () -> String
    /// Returns a number from 0 up to 1.
    private let random: @Sendable () -> Double
    private var refreshing: Task<Session, any Error>?

    /// Uses the store that the app uses.
    ///
    /// - Parameters:
    ///   - store: the app's store, which must implement ``SessionStore/exclusively(_:)``.
    ///   - makeAttemptID: returns a unique id for a refresh, of 1 to 64 characters.
    ///   - random: returns a number from 0 up to 1, which spreads the retries of many clients.
    package init(
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

    package func token() async throws -> String { try await token(unless: nil) }

    package func token(replacing refused: String) async throws -> String { try await token(unless: refused) }

    /// Waits until the refresh in progress, if any, has failed, or has been answered and stored.
    package func settle() async { _ = await refreshing?.result }

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
            // The old token is still valid for some seconds.
            return session.token
        }
    }

    private func isGood(_ session: Session, unless refused: String?) -> Bool {
        session.token != refused && session.expiresAt.timeIntervalSince(clock.now) > Self.leeway
    }

    private func renew(_ session: Session, unless refused: String?) async throws -> Session {
        guard let session = try sessionWithAttemptID(unless: refused) else { throw ClientFailure.signedOut }
        // Without an attempt id, the session is one that the app has renewed meanwhile.
        guard session.refreshAttemptID != nil else { return session }
        var backoff = Backoff()
        var tries = 1
        while true {
            do {
                let renewed = try await accounts.refresh(session.refreshToken, attemptID: session.refreshAttemptID)
                return try keep(renewed, after: session)
            } catch let failure as ClientFailure where failure.isRetryable && tries < Self.maxTries {
                // The server may have renewed the session although the answer was lost. The same request then gets the
                // same answer.
                tries += 1
                let pause = backoff.next(random: random(), atLeast: failure.retryAfter)
                // A notification must not wait that long. The app repeats the refresh later.
                guard pause <= Self.maxPause else { throw failure }
                try await clock.sleep(for: pause)
            } catch ClientFailure.refused(let refusal) where refusal.isOfRefreshToken {
                // The app may have renewed the session meanwhile. If it has not, it will get the same refusal, and
                // sign out; the extension does not.
                guard let current = try loaded().current, isGood(current, unless: session.token) else {
                    throw ClientFailure.signedOut
                }
                return current
            }
        }
    }

    /// Returns the stored session. If its token has to be renewed, an attempt id is stored with it first.
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
            throw ClientFailure.offline("The session cannot be stored on this device now: \(error)")
        }
    }
}
