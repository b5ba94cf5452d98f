import ParlorSecurity

/// A token that a client exchanges for a new access token. It consists of the session's secret id
/// and a secret for one exchange.
///
/// The session stores only a hash of the newest secret. A token with the session's id and another secret
/// was used before. Unless its client repeats an attempt (`RefreshAttempt`), the token or its successor
/// counts as stolen.
struct RefreshToken: Sendable {
    let sessionID: [UInt8]
    private let secret: [UInt8]

    private static let sessionIDLength = 16
    private static let secretLength = 32

    /// Creates the first token of a new session.
    init(randomness: any Randomness) {
        self.init(sessionID: randomness.bytes(Self.sessionIDLength), randomness: randomness)
    }

    /// Creates the next token of a session.
    init(sessionID: [UInt8], randomness: any Randomness) {
        self.sessionID = sessionID
        secret = randomness.bytes(Self.secretLength)
    }

    /// Creates the next token of a session from its previous token and a salt. The same two always give the same
    /// token.
    init(after previous: RefreshToken, salt: [UInt8]) {
        sessionID = previous.sessionID
        secret = HMACSHA256.authenticate(previous.secret, key: salt)
    }

    /// Parses a token; nil if the text does not have the form of a token.
    init?(_ text: String) {
        guard text.utf8.count <= 2 * (Self.sessionIDLength + Self.secretLength), let bytes = Base64URL.decode(text),
            bytes.count == Self.sessionIDLength + Self.secretLength
        else { return nil }
        sessionID = Array(bytes.prefix(Self.sessionIDLength))
        secret = Array(bytes.dropFirst(Self.sessionIDLength))
    }

    var text: String { Base64URL.encode(sessionID + secret) }

    /// The stored hash of the secret. One round is enough: nobody can guess 256 random bits.
    var hash: [UInt8] { SHA256.hash(secret) }
}
