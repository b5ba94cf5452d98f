import Contracts
import JSON
import Security

/// What signing in gives: a token for the gateway, one to renew it with, and who one is.
struct Grant {
    let account: Account
    let token: String
    let expiry: Timestamp
    let refreshToken: RefreshToken

    var json: JSONValue {
        JSONWriter.object(reservingCapacity: 1024) {
            $0.member("token", token)
            $0.member("expiresAt", expiry.iso)
            $0.member("refreshToken", refreshToken.text)
            $0.member("user", account.person.json)
        }
    }
}

/// How long tokens last, and what signs them.
struct TokenPolicy: Sendable {
    let key: JSONWebKey
    /// An access token cannot be called back: this is how long a stolen one is good.
    let accessLifetime: Duration
    /// How long a client may stay away and still be signed in.
    let sessionLifetime: Duration

    /// The token that a gateway believes, and the moment it ends: in whole seconds, as a token says it.
    func accessToken(for account: Account, at now: Timestamp) -> (text: String, expiry: Timestamp) {
        let expiry = now.adding(accessLifetime).milliseconds / 1000
        let caller = Caller(id: account.id, username: account.username, firstName: account.firstName)
        let claims = AccessClaims(caller: caller, expiresAt: expiry).json(issuedAt: now.milliseconds / 1000)
        return (JSONWebToken.sign(claims, with: key), Timestamp(milliseconds: expiry * 1000))
    }
}
