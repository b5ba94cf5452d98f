import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorSecurity
import ParlorServiceKit
import ParlorStorage

/// The SQL of sessions, in the transaction of a connection. The transaction that ends a session appends its end to
/// the event log, for gateways and push.
struct SessionsStore {
    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    /// The limit of one person's sessions, more than anybody needs. Without it, a client that signs in for every
    /// call would fill the disk.
    static let maxPerPerson = 100

    // MARK: Beginning

    func insert(_ session: NewSession, of personID: String) throws {
        // Expired sessions are deleted here, so no separate job is needed. They need no log entry:
        // their tokens have expired, and push asks which sessions have expired.
        try connection.execute("DELETE FROM sessions WHERE expires_at <= $1", session.now.milliseconds)
        // The session that expires last was used last.
        try emit(
            connection.all(
                """
                DELETE FROM sessions WHERE person_id = $1 AND id NOT IN
                    (SELECT id FROM sessions WHERE person_id = $1 ORDER BY expires_at DESC, id LIMIT $2)
                RETURNING public_id, tokens_until
                """, personID, Self.maxPerPerson - 1, body: Ended.init), of: personID, at: session.now)
        try connection.execute(
            """
            INSERT INTO sessions (id, person_id, token_hash, expires_at, public_id, created_at, last_used_at,
                user_agent, address, tokens_until)
            VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $8, $9)
            """, session.token.sessionID, personID, session.token.hash, session.expiry.milliseconds,
            session.publicID, session.now.milliseconds, session.client.userAgent, session.client.address,
            session.tokensUntil.milliseconds)
        try GuessesStore(connection).noteNetwork(session.client.network, of: personID, at: session.now)
    }

    // MARK: Going on

    /// The result of presenting a refresh token. The ids are the public ones of sessions.
    enum Exchange: Sendable {
        /// The next refresh token, and the time of the access token that goes with it.
        case done(RefreshToken, at: Timestamp, Account, id: String)
        /// The token is not valid, or no longer.
        case refused
    }

    /// Replaces the presented token by the next one. Of several requests with the same token the first succeeds. A
    /// later one ends the session, whoever sent it, unless it repeats the attempt of the first: it gets the same tokens for
    /// a minute, and after that the same refresh token until it is used.
    ///
    /// - Parameter attempt: nil if the client sent no `attemptId`.
    func exchange(
        _ presented: RefreshToken, for next: NewSession, _ attempt: RefreshAttempt? = nil
    ) throws -> Exchange {
        guard let session = try session(of: presented, at: next.now),
            let account = try PeopleStore(connection).account(session.personID)
        else { return .refused }
        let attempts = RefreshAttemptsStore(connection)
        guard constantTimeEquals(session.hash, presented.hash) else {
            if let attempt, let first = try attempts.first(with: presented), first.id == attempt.id {
                let token = first.successor(of: presented)
                if first.isRecent(at: next.now) {
                    return .done(token, at: first.usedAt, account, id: session.publicID)
                }
                if constantTimeEquals(session.hash, token.hash) {
                    try prolong(presented.sessionID, next, with: token)
                    return .done(token, at: next.now, account, id: session.publicID)
                }
            }
            try end(session.publicID, of: session.personID, at: next.now)
            return .refused
        }
        if let attempt { try attempts.insert(attempt, with: presented) }
        try prolong(presented.sessionID, next, with: next.token)
        try GuessesStore(connection).noteNetwork(next.client.network, of: session.personID, at: next.now)
        return .done(next.token, at: next.now, account, id: session.publicID)
    }

    private struct Stored {
        let personID: String
        let publicID: String
        let hash: [UInt8]
    }

    private func session(of token: RefreshToken, at now: Timestamp) throws -> Stored? {
        try connection.first(
            "SELECT person_id, public_id, token_hash FROM sessions WHERE id = $1 AND expires_at > $2",
            token.sessionID, now.milliseconds
        ) { Stored(personID: $0.text(0), publicID: $0.text(1), hash: $0.bytes(2)) }
    }

    private func prolong(_ id: [UInt8], _ next: NewSession, with token: RefreshToken) throws {
        try connection.execute(
            """
            UPDATE sessions SET token_hash = $2, expires_at = $3, last_used_at = $4, user_agent = $5, address = $6,
                tokens_until = CASE WHEN tokens_until > $7 THEN tokens_until ELSE $7 END
            WHERE id = $1
            """, id, token.hash, next.expiry.milliseconds, next.now.milliseconds, next.client.userAgent,
            next.client.address, next.tokensUntil.milliseconds)
    }

    /// Stores a new password's hash. Ends every session except the caller's, which continues with the next token.
    ///
    /// - Parameter publicID: the caller's session; nil for a token that names none, in which case a new session
    ///   begins.
    /// - Returns: the remaining session and its public id; nil, with nothing changed, if the caller's session has
    ///   ended or the hash is no longer the one that was checked.
    func changePassword(
        from known: String, to new: String, of personID: String, in publicID: String?,
        _ next: (_ sessionID: [UInt8]?) -> NewSession
    ) throws -> (session: NewSession, id: String)? {
        var current: [UInt8]?
        if let publicID {
            current = try connection.first(
                "SELECT id FROM sessions WHERE public_id = $1 AND person_id = $2", publicID, personID
            ) { $0.bytes(0) }
            guard current != nil else { return nil }
        }
        guard try PeopleStore(connection).replaceHash(known, by: new, of: personID) else { return nil }
        let session = next(current)
        try endOthers(than: publicID, of: personID, at: session.now)
        if let current, let publicID {
            try prolong(current, session, with: session.token)
            return (session, publicID)
        }
        try insert(session, of: personID)
        return (session, session.publicID)
    }

    // MARK: Showing

    func sessions(of personID: String, at now: Timestamp) throws -> [Session] {
        try connection.all(
            """
            SELECT public_id, created_at, last_used_at, user_agent, address FROM sessions
            WHERE person_id = $1 AND expires_at > $2 ORDER BY public_id
            """, personID, now.milliseconds
        ) { row in
            Session(
                id: row.text(0), createdAt: row.time(1), lastUsedAt: row.time(2), userAgent: row.text(3),
                address: row.text(4))
        }
    }

    /// Returns the ids of the sessions among these that have not ended.
    func live(of ids: [String], at now: Timestamp) throws -> [String] {
        try connection.all(
            """
            SELECT public_id FROM sessions
            WHERE public_id IN (SELECT value FROM json_each($1)) AND expires_at > $2
            """, SQLValue.list(ids), now.milliseconds
        ) { $0.text(0) }
    }

    // MARK: Ending

    /// Ends the token's session, whichever of its tokens this is: `exchange` ends it for an older one, too.
    func endSession(of token: RefreshToken, at now: Timestamp) throws {
        guard let session = try session(of: token, at: now) else { return }
        try end(session.publicID, of: session.personID, at: now)
    }

    private struct Ended {
        let id: String
        let tokensUntil: Int

        init(_ row: Row) {
            id = row.text(0)
            tokensUntil = row.int(1)
        }
    }

    /// Ends a session of this person, if it is theirs.
    func end(_ publicID: String, of personID: String, at now: Timestamp) throws {
        try emit(
            connection.all(
                "DELETE FROM sessions WHERE public_id = $1 AND person_id = $2 RETURNING public_id, tokens_until",
                publicID, personID, body: Ended.init), of: personID, at: now)
    }

    /// Ends all sessions of a person except one; all of them if it is nil.
    func endOthers(than publicID: String?, of personID: String, at now: Timestamp) throws {
        try emit(
            connection.all(
                "DELETE FROM sessions WHERE person_id = $1 AND public_id <> $2 RETURNING public_id, tokens_until",
                personID, publicID ?? "", body: Ended.init), of: personID, at: now)
    }

    /// Appends the end of these sessions to the log, even if their access tokens have expired:
    /// their devices must get no more notifications.
    private func emit(_ sessions: [Ended], of personID: String, at now: Timestamp) throws {
        guard let until = sessions.map(\.tokensUntil).max() else { return }
        let ended = SessionsEnded(sessionIDs: sessions.map(\.id), tokensUntil: Timestamp(milliseconds: until))
        // Gateways and push of 0.1.0 read the event. Remove it in 0.3.0.
        let event = Emission(
            to: .person(personID), "sessions:ended", JSONWriter.object { ended.writeMembers(to: &$0) })
        try EventLog.append(
            at: now, roomID: "", participants: [], emissions: [event], fact: .sessionsEnded(ended), on: connection)
    }
}

/// A session that begins or continues, with its next refresh token.
struct NewSession: Sendable {
    let token: RefreshToken
    /// The session's public id. It is used only for a new session; a session that continues keeps
    /// the id in the database.
    let publicID: String
    let now: Timestamp
    let expiry: Timestamp
    /// The time at which the access token that is issued with it expires.
    let tokensUntil: Timestamp
    let client: SigningClient
}
