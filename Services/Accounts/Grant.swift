import Contracts
import JSON
import Security

/// A person as this service knows them.
struct Account: Sendable {
    let id: String
    let username: String
    let firstName: String?
    let email: String?

    /// As the person sees oneself, or as one who may see the address does.
    var person: Person { Person(id: id, username: username, firstName: firstName, email: email) }

    var personWithoutEmail: Person { Person(id: id, username: username, firstName: firstName, email: nil) }
}

/// The result of a sign-in: a token for the gateway, a refresh token, and the person.
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

/// The lifetime of tokens, and the key that signs them.
struct TokenPolicy: Sendable {
    let key: JSONWebKey
    /// A token is good for this long if nothing ends its session.
    let accessLifetime: Duration
    /// The time that a session lasts without a visit from its client.
    let sessionLifetime: Duration

    /// When a token of now ends: in whole seconds, as a token says it, and not after its session.
    func accessExpiry(at now: Timestamp) -> Timestamp {
        Timestamp(milliseconds: now.adding(min(accessLifetime, sessionLifetime)).milliseconds / 1000 * 1000)
    }

    /// The token that a gateway believes, until its session has ended.
    func accessToken(for account: Account, inSession id: String, at now: Timestamp) -> String {
        let caller = Caller(id: account.id, username: account.username, firstName: account.firstName)
        let claims = AccessClaims(
            caller: caller, sessionID: id, expiresAt: accessExpiry(at: now).milliseconds / 1000)
        return JSONWebToken.sign(claims.json(issuedAt: now.milliseconds / 1000), with: key)
    }
}
