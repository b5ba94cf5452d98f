import Contracts
import Security
import Storage

/// A refresh with an `attemptId`, so that its client can repeat it if the answer is lost.
///
/// The answer is not stored. The next refresh token is an HMAC of the previous token, with the salt
/// as its key. The client presents the previous token again. Neither the token nor the salt is
/// enough alone.
struct RefreshAttempt: Sendable {
    let id: String
    let salt: [UInt8]
    let usedAt: Timestamp

    private static let saltLength = 32
    /// The time after its first use for which the same attempt gets the same answer.
    static let lifetime: Duration = .seconds(60)

    init(id: String, salt: [UInt8], usedAt: Timestamp) {
        self.id = id
        self.salt = salt
        self.usedAt = usedAt
    }

    init(id: String, randomness: any Randomness, at now: Timestamp) {
        self.init(id: id, salt: randomness.bytes(Self.saltLength), usedAt: now)
    }
}

/// The SQL of attempts, in the transaction of a connection. The database removes them with their session.
struct RefreshAttemptsStore {
    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    /// Returns the attempt that used this token, if it has the same id and its lifetime is not over.
    ///
    /// The hash covers only the token's secret, so the session is compared too. Otherwise the
    /// secret of one session could be used with the id of another.
    func first(of attempt: RefreshAttempt, with token: RefreshToken) throws -> RefreshAttempt? {
        let found = try connection.first(
            """
            SELECT attempt_id, salt, used_at FROM refresh_attempts
            WHERE session_id = $1 AND token_hash = $2 AND used_at > $3
            """, token.sessionID, token.hash, attempt.usedAt.adding(.zero - RefreshAttempt.lifetime).milliseconds
        ) { RefreshAttempt(id: $0.text(0), salt: $0.bytes(1), usedAt: $0.time(2)) }
        return found?.id == attempt.id ? found : nil
    }

    func insert(_ attempt: RefreshAttempt, with token: RefreshToken) throws {
        // Expired attempts are deleted here, so no separate job is needed.
        try connection.execute(
            "DELETE FROM refresh_attempts WHERE used_at <= $1",
            attempt.usedAt.adding(.zero - RefreshAttempt.lifetime).milliseconds)
        try connection.execute(
            """
            INSERT INTO refresh_attempts (session_id, token_hash, attempt_id, salt, used_at)
            VALUES ($1, $2, $3, $4, $5)
            """, token.sessionID, token.hash, attempt.id, attempt.salt, attempt.usedAt.milliseconds)
    }
}
