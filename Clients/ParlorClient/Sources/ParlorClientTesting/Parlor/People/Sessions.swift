import ParlorClient

/// The sessions: access tokens, refresh tokens, and the devices that get notifications. What belongs to one session has
/// the same family.
struct Sessions: Sendable {
    struct Token: Sendable {
        var userID: String
        var expiresAt: Int
        var family: Int
    }

    /// The tokens that a login or a refresh is answered with.
    struct Grant: Sendable {
        var token: String
        var expiresAt: Int
        var refreshToken: String
        var person: Person

        var json: JSON {
            [
                "token": .string(token), "expiresAt": .string(WireTime.milliseconds(expiresAt)),
                "refreshToken": .string(refreshToken), "user": person.json(),
            ]
        }
    }

    private struct RefreshToken: Sendable {
        var person: Person
        var family: Int
        var isUsed = false
        /// The refresh that used the token, if it had an attempt id.
        var attempt: (id: String, grant: Grant)?
    }

    private let tokenLifetime: Int
    private var tokens: [String: Token] = [:]
    private var refreshTokens: [String: RefreshToken] = [:]
    /// The tokens of devices, with the access tokens that registered them.
    private var devices: [String: Token] = [:]

    /// - Parameter tokenLifetime: in milliseconds.
    init(tokenLifetime: Int) { self.tokenLifetime = tokenLifetime }

    mutating func open(for person: Person, _ numbers: inout Numbers) -> Grant {
        grant(person, family: numbers.nextNumber(), &numbers)
    }

    mutating func refresh(_ fields: JSON, _ numbers: inout Numbers) throws(Refused) -> Grant {
        let text = try fields.required("refreshToken")
        let refused = Refused(status: 401, code: "invalid_token", message: "Sign in again.")
        guard let token = refreshTokens[text] else { throw refused }
        let attemptID = fields["attemptId"]?.string
        if let attemptID, !(1...64).contains(attemptID.unicodeScalars.count) {
            throw .invalid("attemptId", "must have 1 to 64 characters")
        }
        // A repeated refresh gets the same tokens until the new refresh token is used.
        if let (id, grant) = token.attempt, id == attemptID, refreshTokens[grant.refreshToken]?.isUsed == false {
            return grant
        }
        guard !token.isUsed else {
            end(token.family)
            throw refused
        }
        let grant = grant(token.person, family: token.family, &numbers)
        refreshTokens[text]?.isUsed = true
        refreshTokens[text]?.attempt = attemptID.map { ($0, grant) }
        return grant
    }

    mutating func logOut(_ fields: JSON) throws(Refused) {
        if let token = refreshTokens[try fields.required("refreshToken")] { end(token.family) }
    }

    mutating func endAll(of userID: String) {
        for family in families(of: userID) { end(family) }
    }

    /// Returns the numbers of a person's open sessions.
    func families(of userID: String) -> Set<Int> {
        Set(refreshTokens.values.filter { $0.person.id == userID }.map(\.family))
    }

    /// Returns an access token; nil if it is missing, unknown or expired.
    func token(_ text: String?, at now: Int) -> Token? {
        text.flatMap { tokens[$0] }.flatMap { $0.expiresAt > now ? $0 : nil }
    }

    mutating func expireTokens() { tokens = [:] }

    mutating func registerDevice(_ fields: JSON, by token: Token) throws(Refused) -> Answer {
        let known = devices.updateValue(token, forKey: try fields.required("token"))
        return Answer(known?.userID == token.userID ? 200 : 201, [:])
    }

    mutating func removeDevice(_ device: String, of userID: String) {
        if devices[device]?.userID == userID { devices[device] = nil }
    }

    /// Returns the tokens of a person's devices, sorted.
    func devices(of userID: String) -> [String] { devices.filter { $0.value.userID == userID }.keys.sorted() }

    private mutating func end(_ family: Int) {
        refreshTokens = refreshTokens.filter { $0.value.family != family }
        tokens = tokens.filter { $0.value.family != family }
        devices = devices.filter { $0.value.family != family }
    }

    private mutating func grant(_ person: Person, family: Int, _ numbers: inout Numbers) -> Grant {
        let number = numbers.nextNumber()
        let expiresAt = numbers.now + tokenLifetime
        let (token, refreshToken) = ("token-\(number)", "refresh-\(number)")
        tokens[token] = Token(userID: person.id, expiresAt: expiresAt, family: family)
        refreshTokens[refreshToken] = RefreshToken(person: person, family: family)
        return Grant(token: token, expiresAt: expiresAt, refreshToken: refreshToken, person: person)
    }
}
