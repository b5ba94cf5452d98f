import ParlorStorage

/// The migrations of this service's tables.
enum AccountsSchema {
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
        // Sessions from before this migration have no public id and no times: use a derived id and the account's
        // creation time.
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
        Migration(
            version: 5, name: "refreshes that can be repeated",
            sql: """
                CREATE TABLE refresh_attempts (
                    session_id BLOB NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                    token_hash BLOB NOT NULL,
                    attempt_id TEXT NOT NULL,
                    salt BLOB NOT NULL,
                    used_at INTEGER NOT NULL,
                    PRIMARY KEY (session_id, token_hash)
                );
                CREATE INDEX refresh_attempts_by_time ON refresh_attempts (used_at)
                """),
        Migration(
            version: 6, name: "refreshes that can be repeated however late",
            sql: "DROP INDEX refresh_attempts_by_time"),
        // `Accounts.renewKeys` computes the keys of people from before.
        Migration(
            version: 7, name: "keys of first names in one normal form",
            sql: """
                ALTER TABLE people ADD COLUMN has_old_key INTEGER NOT NULL DEFAULT 0;
                UPDATE people SET has_old_key = 1 WHERE first_name IS NOT NULL
                """),
    ]
}
