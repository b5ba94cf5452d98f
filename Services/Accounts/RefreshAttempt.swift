import ParlorContracts
import ParlorSecurity
import ParlorStorage

/// A refresh with an `attemptId`, so that its client can repeat it if the answer is lost.
///
/// The answer is not stored. The next refresh token is an HMAC of the previous token, with the salt
/// as its key. The client presents the previous token again. Neither the token nor the salt is
/// enough alone. So until the next token is used, whoever presents the previous one may have it, however late:
/// a phone may be suspended for days between a refresh and its answer.
struct RefreshAttempt: Sendable {
    let id: String
    let salt: [UInt8]
    let usedAt: Timestamp

    private static let saltLength = 32
    /// The time after its first use for which the same attempt gets the same answer, even if its refresh token was used
    /// meanwhile: a repeated request may have been overtaken.
    static let lifetime: Duration = .seconds(60)

    init(id: String, salt: [UInt8], usedAt: Timestamp) {
        self.id = id
        self.salt = salt
        self.usedAt = usedAt
    }

    init(id: String, randomness: any Randomness, at now: Timestamp) {
        self.init(id: id, salt: randomness.bytes(Self.saltLength), usedAt: now)
    }

    func successor(of token: RefreshToken) -> RefreshToken { RefreshToken(after: token, salt: salt) }

    func isRecent(at now: Timestamp) -> Bool { usedAt > now.adding(.zero - Self.lifetime) }
}

/// The SQL of attempts, in the transaction of a connection. The database removes them with their session.
struct RefreshAttemptsStore {
    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    /// Returns the attempt that used this token.
    ///
    /// The hash covers only the token's secret, so the session is compared too. Otherwise the
    /// secret of one session could be used with the id of another.
    func first(with token: RefreshToken) throws -> RefreshAttempt? {
        try connection.first(
            "SELECT attempt_id, salt, used_at FROM refresh_attempts WHERE session_id = $1 AND token_hash = $2",
            token.sessionID, token.hash
        ) { RefreshAttempt(id: $0.text(0), salt: $0.bytes(1), usedAt: $0.time(2)) }
    }

    /// Adds a session's latest attempt. Of the earlier ones, only those that still get their answer are kept.
    func insert(_ attempt: RefreshAttempt, with token: RefreshToken) throws {
        try connection.execute(
            "DELETE FROM refresh_attempts WHERE session_id = $1 AND used_at <= $2",
            token.sessionID, attempt.usedAt.adding(.zero - RefreshAttempt.lifetime).milliseconds)
        try connection.execute(
            """
            INSERT INTO refresh_attempts (session_id, token_hash, attempt_id, salt, used_at)
            VALUES ($1, $2, $3, $4, $5)
            """, token.sessionID, token.hash, attempt.id, attempt.salt, attempt.usedAt.milliseconds)
    }
}
