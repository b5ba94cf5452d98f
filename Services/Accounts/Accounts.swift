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
    func session(_ token: RefreshToken) -> AccountsDatabase.NewSession {
        let now = clock.now()
        return AccountsDatabase.NewSession(token: token, now: now, expiry: now.adding(tokens.sessionLifetime))
    }

    func grant(_ account: Account, _ session: AccountsDatabase.NewSession) -> Grant {
        let (token, expiry) = tokens.accessToken(for: account, at: session.now)
        return Grant(account: account, token: token, expiry: expiry, refreshToken: session.token)
    }
}
