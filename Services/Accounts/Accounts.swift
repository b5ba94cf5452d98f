import Contracts
import Security
import ServiceKit
import Storage

/// People, their passwords and their sessions. Each use case is an extension in a file of its own.
struct Accounts: Sendable {
    let database: AccountsDatabase
    let passwords: PasswordChecker
    let tokens: TokenPolicy
    let ids: UUIDv7Generator
    let clock: any WallClock
    let randomness: any Randomness
    let emailVisibility: EmailVisibility
    let partners: any PartnerDirectory

    /// A session that begins or goes on now, with its next token.
    func session(_ token: RefreshToken, _ client: SigningClient) -> AccountsDatabase.NewSession {
        let now = clock.now()
        return AccountsDatabase.NewSession(
            token: token, publicID: ids.next(at: now.milliseconds), now: now,
            expiry: now.adding(tokens.sessionLifetime), tokensUntil: tokens.accessExpiry(at: now), client: client)
    }

    /// - Parameter id: what the session is called.
    func grant(_ account: Account, _ session: AccountsDatabase.NewSession, id: String) -> Grant {
        Grant(
            account: account, token: tokens.accessToken(for: account, inSession: id, at: session.now),
            expiry: session.tokensUntil, refreshToken: session.token)
    }
}
