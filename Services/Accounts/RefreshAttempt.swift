import Contracts
import Security
import Storage

/// A refresh that its client has named, so that it can ask again if the answer is lost.
///
/// The answer is not kept. The next refresh token follows from the one before it, which the client presents again, and from the
/// salt: neither alone makes it.
struct RefreshAttempt: Sendable {
    let id: String
    let salt: [UInt8]
    let usedAt: Timestamp

    private static let saltLength = 32
    /// For so long the same attempt gets the same answer (api-2.md, "Accounts").
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

/// The SQL of attempts, in the transaction of a connection.
struct RefreshAttemptsStore {
    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    /// The attempt that used this token first, if it is the same one and may still be repeated.
    func first(of attempt: RefreshAttempt, with token: RefreshToken) throws -> RefreshAttempt? {
        let found = try connection.first(
            "SELECT attempt_id, salt, used_at FROM refresh_attempts WHERE token_hash = $1 AND used_at > $2",
            token.hash, attempt.usedAt.adding(.zero - RefreshAttempt.lifetime).milliseconds
        ) { RefreshAttempt(id: $0.text(0), salt: $0.bytes(1), usedAt: $0.time(2)) }
        return found?.id == attempt.id ? found : nil
    }

    func insert(_ attempt: RefreshAttempt, with token: RefreshToken) throws {
        // Here, as they come as often as they go.
        try connection.execute(
            "DELETE FROM refresh_attempts WHERE used_at <= $1",
            attempt.usedAt.adding(.zero - RefreshAttempt.lifetime).milliseconds)
        try connection.execute(
            "INSERT INTO refresh_attempts (token_hash, attempt_id, salt, used_at) VALUES ($1, $2, $3, $4)",
            token.hash, attempt.id, attempt.salt, attempt.usedAt.milliseconds)
    }
}
