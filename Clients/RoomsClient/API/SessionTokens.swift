import Foundation

/// Keeps one session, and renews it.
///
/// It is renewed a minute before its token expires, by whoever asks then, and when the server refuses the token; by a clock that is
/// so far ahead that new tokens seem to be over, then alone. Those who ask meanwhile wait for the same refresh. A refresh is never cancelled: its token works once, and the answer to it is the session.
public actor SessionTokens: TokenProvider {
    /// Room for clocks that differ, and for the request's own way. Of a token that lives for less than two minutes, half its life.
    static let longestLeeway: TimeInterval = 60

    private let accounts: AccountsAPI
    private let clock: any ClientClock
    private let onChange: @Sendable (Session?) -> Void
    private var current: Session?
    /// How long before its end it is renewed; nil: not before the server refuses it.
    private var leeway: TimeInterval? = SessionTokens.longestLeeway
    private var refreshing: Task<Session, any Error>?

    /// - Parameters:
    ///   - session: as it was kept; nil if nobody is signed in.
    ///   - onChange: told of each new session before its token is given out, and of nil when it is over: the place to keep it in
    ///     the keychain. A refresh token that was used works no more, so it has to be kept before this returns.
    public init(
        _ session: Session? = nil, accounts: AccountsAPI, clock: any ClientClock = SystemClock(),
        onChange: @escaping @Sendable (Session?) -> Void
    ) {
        current = session
        self.accounts = accounts
        self.clock = clock
        self.onChange = onChange
    }

    public var session: Session? { current }

    /// Takes the session of somebody who has signed in; nil signs out here. The server is not told.
    public func use(_ session: Session?) {
        refreshing = nil
        keep(session)
    }

    private func keep(_ session: Session?) {
        current = session
        let life = session?.expiresAt.timeIntervalSince(clock.now) ?? 0
        // A new one that is over already shows that this clock is ahead: it says nothing of when the token ends.
        leeway = life > 0 ? min(Self.longestLeeway, life / 2) : nil
        onChange(session)
    }

    public func token() async throws -> String {
        guard let session = current else { throw ClientFailure.signedOut }
        let left = session.expiresAt.timeIntervalSince(clock.now)
        guard let leeway, left <= leeway else { return session.token }
        do {
            return try await refresh(session)
        } catch let failure as ClientFailure where failure.isRetryable && left > 0 {
            // It is good for some seconds yet.
            return session.token
        }
    }

    public func token(replacing refused: String) async throws -> String {
        guard let session = current else { throw ClientFailure.signedOut }
        return session.token == refused ? try await refresh(session) : session.token
    }

    private func refresh(_ session: Session) async throws -> String {
        let task = refreshing ?? startRefresh(of: session)
        return try await task.valueUnlessCancelled.token
    }

    private func startRefresh(of session: Session) -> Task<Session, any Error> {
        let task = Task { try await renew(session) }
        refreshing = task
        return task
    }

    private func renew(_ session: Session) async throws -> Session {
        let outcome: Result<Session, any Error>
        do {
            outcome = .success(try await accounts.refresh(session.refreshToken))
        } catch {
            outcome = .failure(error)
        }
        // Somebody has signed in meanwhile, or out: this answer is nobody's.
        guard current == session else {
            guard let current, current.user.id == session.user.id else { throw ClientFailure.signedOut }
            return current
        }
        refreshing = nil
        switch outcome {
        case .success(let renewed):
            keep(renewed)
            return renewed
        case .failure(ClientFailure.refused(let refusal)) where refusal.isOfRefreshToken:
            keep(nil)
            throw ClientFailure.signedOut
        case .failure(let error): throw error
        }
    }
}

extension Refusal {
    /// The server will not take this token, whenever it is asked: it is used, revoked, or no token. Any other refusal may pass.
    fileprivate var isOfRefreshToken: Bool {
        ["invalid_token", "unauthenticated", "invalid_field", "malformed_request"].contains(code)
    }
}
