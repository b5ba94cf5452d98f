import Contracts
import Security
import Storage

/// The only SQL of this service.
///
/// The `…_key` columns hold what is compared without regard to case: lower-cased here, as no two engines agree on it
/// beyond ASCII.
struct AccountsDatabase: Sendable {
    let database: any Database

    static let migrations = [
        Migration(
            version: 1, name: "people and sessions",
            sql: """
                CREATE TABLE people (
                    id TEXT PRIMARY KEY,
                    username TEXT NOT NULL,
                    username_key TEXT NOT NULL UNIQUE,
                    first_name TEXT,
                    first_name_key TEXT,
                    email TEXT,
                    email_key TEXT UNIQUE,
                    password_hash TEXT NOT NULL,
                    created_at INTEGER NOT NULL
                );
                CREATE INDEX people_by_first_name ON people (first_name_key, username_key);
                CREATE TABLE sessions (
                    id BLOB PRIMARY KEY,
                    person_id TEXT NOT NULL REFERENCES people (id),
                    token_hash BLOB NOT NULL,
                    expires_at INTEGER NOT NULL
                );
                CREATE INDEX sessions_by_expiry ON sessions (expires_at)
                """),
        Migration(
            version: 2, name: "sessions by person",
            sql: "CREATE INDEX sessions_by_person ON sessions (person_id, expires_at)"),
    ]

    /// More devices than anyone signs in on. Without an end, a client that signs in for every call would fill the disk.
    static let maxSessionsOfPerson = 100

    // MARK: Writes

    enum Registration: Sendable {
        case done
        case usernameTaken
        case emailTaken
    }

    struct Newcomer: Sendable {
        let id: String
        let username: Username
        let firstName: FirstName?
        let email: EmailAddress?
        let passwordHash: String
    }

    /// Adds a person, signed in.
    func register(_ newcomer: Newcomer, _ session: NewSession) async throws -> Registration {
        try await database.write { connection in
            // Whoever was first has it: the unique columns decide, not a look beforehand.
            let inserted = try connection.execute(
                """
                INSERT INTO people
                    (id, username, username_key, first_name, first_name_key, email, email_key, password_hash, created_at)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
                ON CONFLICT DO NOTHING
                """, newcomer.id, newcomer.username.text, newcomer.username.key, newcomer.firstName?.text,
                newcomer.firstName?.key, newcomer.email?.text, newcomer.email?.key, newcomer.passwordHash,
                session.now.milliseconds)
            guard inserted == 1 else {
                let isUsername = try connection.first(
                    "SELECT 1 FROM people WHERE username_key = $1", newcomer.username.key, body: { _ in true })
                return isUsername == true ? .usernameTaken : .emailTaken
            }
            try Self.insert(session, of: newcomer.id, on: connection)
            return .done
        }
    }

    struct NewSession: Sendable {
        let token: RefreshToken
        let now: Timestamp
        let expiry: Timestamp
    }

    func addSession(_ session: NewSession, of personID: String) async throws {
        try await database.write { try Self.insert(session, of: personID, on: $0) }
    }

    private static func insert(_ session: NewSession, of personID: String, on connection: any Connection) throws {
        // Here, because sessions are added as often as they end: no job of its own is needed.
        try connection.execute("DELETE FROM sessions WHERE expires_at <= $1", session.now.milliseconds)
        // What expires last was used last.
        try connection.execute(
            """
            DELETE FROM sessions WHERE person_id = $1 AND id NOT IN
                (SELECT id FROM sessions WHERE person_id = $1 ORDER BY expires_at DESC, id LIMIT $2)
            """, personID, Self.maxSessionsOfPerson - 1)
        try connection.execute(
            "INSERT INTO sessions (id, person_id, token_hash, expires_at) VALUES ($1, $2, $3, $4)",
            session.token.sessionID, personID, session.token.hash, session.expiry.milliseconds)
    }

    /// Puts the next token in the place of one that is presented. Of several who present the same, one gets through; it
    /// ends the session for all.
    ///
    /// - Returns: whose session it is; nil if the token is not, or no longer, good.
    func exchange(_ presented: RefreshToken, for next: NewSession) async throws -> Account? {
        try await database.write { connection in
            let session = try connection.first(
                "SELECT person_id, token_hash FROM sessions WHERE id = $1 AND expires_at > $2", presented.sessionID,
                next.now.milliseconds
            ) { (personID: $0.text(0), hash: $0.bytes(1)) }
            guard let session else { return nil }
            guard constantTimeEquals(session.hash, presented.hash) else {
                try Self.deleteSession(presented.sessionID, on: connection)
                return nil
            }
            try connection.execute(
                "UPDATE sessions SET token_hash = $2, expires_at = $3 WHERE id = $1", presented.sessionID,
                next.token.hash,
                next.expiry.milliseconds)
            return try Self.account(session.personID, on: connection)
        }
    }

    func endSession(_ id: [UInt8]) async throws {
        try await database.write { try Self.deleteSession(id, on: $0) }
    }

    private static func deleteSession(_ id: [UInt8], on connection: any Connection) throws {
        try connection.execute("DELETE FROM sessions WHERE id = $1", id)
    }

    // MARK: Reads

    /// By username or e-mail address. They cannot be mistaken for each other: only one of them has an `@`.
    func credentials(_ name: String) async throws -> (account: Account, passwordHash: String)? {
        let key = name.lowercased()
        return try await database.read { connection in
            try connection.first(
                """
                SELECT \(Self.accountColumns), password_hash FROM people WHERE username_key = $1 OR email_key = $1
                """, key
            ) { (Self.account($0), $0.text(4)) }
        }
    }

    func account(_ id: String) async throws -> Account? {
        try await database.read { try Self.account(id, on: $0) }
    }

    /// Those of the ids that exist, in no order.
    func accounts(_ ids: [String]) async throws -> [Account] {
        try await database.read { connection in
            try connection.all(
                "SELECT \(Self.accountColumns) FROM people WHERE id IN (SELECT value FROM json_each($1))",
                SQLValue.list(ids), body: Self.account)
        }
    }

    /// People in the order of their usernames' keys, after one, without some.
    /// - Parameter prefix: what their username or first name starts with, without regard to case.
    func people(
        startingWith prefix: String, after usernameKey: String, without ids: [String], limit: Int
    ) async throws -> [Account] {
        let range = PrefixRange(prefix.lowercased())
        let start = range.start.utf8.lexicographicallyPrecedes(usernameKey.utf8) ? usernameKey : range.start
        return try await database.read { connection in
            try connection.all(
                prefix.isEmpty ? Self.anyPeople : Self.peopleByPrefix, usernameKey, start, range.end,
                SQLValue.list(ids),
                limit, range.start, body: Self.account)
        }
    }

    private static let anyPeople = """
        SELECT \(accountColumns) FROM people
        WHERE username_key >= $2 AND username_key <> $1 AND username_key < $3 AND $6 = ''
            AND id NOT IN (SELECT value FROM json_each($4))
        ORDER BY username_key LIMIT $5
        """

    /// Two ranges of two indexes, each cut off by itself: an OR would walk the whole table for a rare name.
    private static let peopleByPrefix = """
        SELECT \(accountColumns) FROM (
            SELECT * FROM (
                SELECT \(accountColumns), username_key FROM people
                WHERE username_key >= $2 AND username_key <> $1 AND username_key < $3
                    AND id NOT IN (SELECT value FROM json_each($4))
                ORDER BY username_key LIMIT $5
            ) AS by_username
            UNION
            SELECT * FROM (
                SELECT \(accountColumns), username_key FROM people
                WHERE first_name_key >= $6 AND first_name_key < $3 AND username_key > $1
                    AND id NOT IN (SELECT value FROM json_each($4))
                ORDER BY username_key LIMIT $5
            ) AS by_first_name
        ) AS found
        ORDER BY username_key LIMIT $5
        """

    private static let accountColumns = "id, username, first_name, email"

    private static func account(_ row: Row) -> Account {
        Account(id: row.text(0), username: row.text(1), firstName: row.textOrNil(2), email: row.textOrNil(3))
    }

    private static func account(_ id: String, on connection: any Connection) throws -> Account? {
        try connection.first("SELECT \(accountColumns) FROM people WHERE id = $1", id, body: account)
    }
}
