import JSON

/// The claims of an access token: Accounts writes them, gateways read them, without a call.
public struct AccessClaims: Sendable, Equatable {
    public let caller: Caller
    /// Seconds since 1970.
    public let expiresAt: Int

    public init(caller: Caller, expiresAt: Int) {
        self.caller = caller
        self.expiresAt = expiresAt
    }

    public func json(issuedAt: Int) -> JSONValue {
        JSONWriter.object {
            $0.member("sub", caller.id)
            $0.member("username", caller.username)
            $0.member("firstName", caller.firstName)
            $0.member("iat", issuedAt)
            $0.member("exp", expiresAt)
        }
    }

    /// nil if they are not those of an access token.
    public init?(_ claims: JSONObject) {
        guard let id = claims["sub"]?.string, let username = claims["username"]?.string,
            let expiresAt = claims["exp"]?.double, abs(expiresAt) < 1e15
        else { return nil }
        let caller = Caller(id: id, username: username, firstName: claims["firstName"]?.string)
        self.init(caller: caller, expiresAt: Int(expiresAt))
    }
}
