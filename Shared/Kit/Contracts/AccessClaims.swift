import JSON

/// The claims of an access token: Accounts writes them, gateways read them, without a call.
public struct AccessClaims: Sendable, Equatable {
    public let caller: Caller
    /// The session that the token belongs to, by the id that its person sees; nil for one from before tokens had it.
    public let sessionID: String?
    /// Seconds since 1970; nil if the token does not say it.
    public let issuedAt: Int?
    /// Seconds since 1970: a token is good while the second that it is now is earlier.
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

    /// nil if they are not those of an access token.
    public init?(_ claims: JSONObject) {
        guard let id = claims["sub"]?.string, let username = claims["username"]?.string,
            let expiresAt = claims["exp"]?.double, abs(expiresAt) < 1e15
        else { return nil }
        // One that names its session in a way that is not ours could not be ended with it.
        let sessionID = claims["sid"]
        guard sessionID == nil || sessionID?.string != nil else { return nil }
        let caller = Caller(id: id, username: username, firstName: claims["firstName"]?.string)
        self.init(
            caller: caller, sessionID: sessionID?.string, issuedAt: claims["iat"]?.int,
            expiresAt: Int(expiresAt.rounded(.up)))
    }
}
