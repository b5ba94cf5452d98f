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
        // Sessions from before get a name that says nothing, and are as old as the account: nobody knows better.
        Migration(
            version: 3, name: "sessions that people see",
            sql: """
                ALTER TABLE sessions ADD COLUMN public_id TEXT NOT NULL DEFAULT '';
                ALTER TABLE sessions ADD COLUMN created_at INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE sessions ADD COLUMN last_used_at INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE sessions ADD COLUMN user_agent TEXT NOT NULL DEFAULT '';
                ALTER TABLE sessions ADD COLUMN address TEXT NOT NULL DEFAULT '';
                ALTER TABLE sessions ADD COLUMN tokens_until INTEGER NOT NULL DEFAULT 0;
                UPDATE sessions SET
                    public_id = person_id || '-' || (
                        SELECT count(*) FROM sessions AS earlier
                        WHERE earlier.person_id = sessions.person_id AND earlier.id < sessions.id),
                    created_at = (SELECT created_at FROM people WHERE people.id = sessions.person_id),
                    last_used_at = (SELECT created_at FROM people WHERE people.id = sessions.person_id);
                CREATE UNIQUE INDEX sessions_by_public_id ON sessions (public_id)
                """),
        Migration(
            version: 4, name: "guesses and known networks",
            sql: """
                CREATE TABLE guesses (
                    subject TEXT NOT NULL,
                    network TEXT NOT NULL,
                    back_at INTEGER NOT NULL,
                    PRIMARY KEY (subject, network)
                );
                CREATE INDEX guesses_by_time ON guesses (back_at);
                CREATE TABLE known_networks (
                    person_id TEXT NOT NULL REFERENCES people (id),
                    network TEXT NOT NULL,
                    used_at INTEGER NOT NULL,
                    PRIMARY KEY (person_id, network)
                )
                """),
    ]

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

    /// Puts another hash in the place of the one that is known.
    ///
    /// - Returns: false if that is no longer the person's.
    static func replaceHash(
        _ known: String, by new: String, of personID: String, on connection: any Connection
    ) throws -> Bool {
        try connection.execute(
            "UPDATE people SET password_hash = $3 WHERE id = $1 AND password_hash = $2", personID, known, new) == 1
    }

    // MARK: Reads

    /// A person, and the hash of their password.
    struct Credentials: Sendable {
        let account: Account
        let passwordHash: String
    }

    /// By username or e-mail address. They cannot be mistaken for each other: only one of them has an `@`.
    static func credentials(named key: String, on connection: any Connection) throws -> Credentials? {
        try connection.first(
            "SELECT \(accountColumns), password_hash FROM people WHERE username_key = $1 OR email_key = $1", key,
            body: credentials)
    }

    func credentials(of personID: String) async throws -> Credentials? {
        try await database.read { connection in
            try connection.first(
                "SELECT \(Self.accountColumns), password_hash FROM people WHERE id = $1", personID,
                body: Self.credentials)
        }
    }

    private static func credentials(_ row: Row) -> Credentials {
        Credentials(account: account(row), passwordHash: row.text(4))
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

    static func account(_ id: String, on connection: any Connection) throws -> Account? {
        try connection.first("SELECT \(accountColumns) FROM people WHERE id = $1", id, body: account)
    }
}
