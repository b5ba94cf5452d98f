import ParlorContracts
import ParlorJSON
import ParlorSecurity

/// A person as this service knows them.
struct Account: Sendable {
    let id: String
    let username: String
    let firstName: String?
    let email: String?

    /// The person as they see themselves, or as seen by someone who may see the address.
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

    static let schema = Schema.named(
        "Grant",
        .object([
            "token": Schema.string.noted("For the header `Authorization: Bearer TOKEN`."), "expiresAt": .time,
            "refreshToken": Schema.string.noted("Works once."), "user": Person.schema,
        ]))
}

/// The lifetime of tokens, and the key that signs them.
struct TokenPolicy: Sendable {
    let key: JSONWebKey
    /// The lifetime of an access token, if its session does not end earlier.
    let accessLifetime: Duration
    /// How long a session lasts after its last refresh.
    let sessionLifetime: Duration

    /// Returns the expiry of a token issued now: in whole seconds, as in the token, and not after its
    /// session.
    func accessExpiry(at now: Timestamp) -> Timestamp {
        Timestamp(milliseconds: now.adding(min(accessLifetime, sessionLifetime)).milliseconds / 1000 * 1000)
    }

    /// Returns an access token; gateways accept it until it expires or its session ends.
    func accessToken(for account: Account, inSession id: String, at now: Timestamp) -> String {
        let caller = Caller(id: account.id, username: account.username, firstName: account.firstName)
        let claims = AccessClaims(
            caller: caller, sessionID: id, expiresAt: accessExpiry(at: now).milliseconds / 1000)
        return JSONWebToken.sign(claims.json(issuedAt: now.milliseconds / 1000), with: key)
    }
}
