import ParlorJSON

/// The claims of an access token. Accounts writes them; gateways read them without a request.
public struct AccessClaims: Sendable, Equatable {
    public let caller: Caller
    /// The public id of the token's session, as the list of sessions shows it; nil in a token that was issued
    /// before sessions had ids.
    public let sessionID: String?
    /// The time of issue in seconds since 1970; nil if the token does not contain it.
    public let issuedAt: Int?
    /// The time of expiry in seconds since 1970. The token is valid while the current second is earlier.
    public let expiresAt: Int

    public init(caller: Caller, sessionID: String? = nil, issuedAt: Int? = nil, expiresAt: Int) {
        self.caller = caller
        self.sessionID = sessionID
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
    }

    public func json(issuedAt: Int) -> JSONValue {
        JSONWriter.object {
            $0.member("sub", caller.id)
            $0.member("username", caller.username)
            $0.member("firstName", caller.firstName)
            if let sessionID { $0.member("sid", sessionID) }
            $0.member("iat", issuedAt)
            $0.member("exp", expiresAt)
        }
    }

    /// Parses claims; nil if they are not those of an access token.
    public init?(_ claims: JSONObject) {
        guard let id = claims["sub"]?.string, let username = claims["username"]?.string,
            let expiresAt = claims["exp"]?.double, abs(expiresAt) < 1e15
        else { return nil }
        // A token whose session's id is malformed could not be revoked with its session.
        let sessionID = claims["sid"]
        guard sessionID == nil || sessionID?.string != nil else { return nil }
        let caller = Caller(id: id, username: username, firstName: claims["firstName"]?.string)
        self.init(
            caller: caller, sessionID: sessionID?.string, issuedAt: claims["iat"]?.int,
            expiresAt: Int(expiresAt.rounded(.up)))
    }
}
