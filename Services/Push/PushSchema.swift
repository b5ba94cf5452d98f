import ParlorStorage

/// The migrations of this service's tables.
enum PushSchema {
    static let migrations = [
        Migration(
            version: 1, name: "devices and jobs",
            sql: """
                CREATE TABLE devices (
                    token TEXT PRIMARY KEY,
                    user_id TEXT NOT NULL,
                    platform TEXT NOT NULL,
                    environment TEXT NOT NULL,
                    registered_at INTEGER NOT NULL,
                    quarantined_until INTEGER NOT NULL,
                    badge_sent_at INTEGER NOT NULL
                );
                CREATE INDEX devices_by_person ON devices (user_id, registered_at);
                CREATE TABLE jobs (
                    id TEXT PRIMARY KEY,
                    token TEXT NOT NULL,
                    user_id TEXT NOT NULL,
                    message_id TEXT NOT NULL,
                    room_id TEXT NOT NULL,
                    log_seq INTEGER NOT NULL,
                    sender_name TEXT NOT NULL,
                    sent_at INTEGER NOT NULL,
                    made_at INTEGER NOT NULL,
                    due_at INTEGER NOT NULL,
                    attempts INTEGER NOT NULL,
                    is_watching INTEGER NOT NULL,
                    revision INTEGER NOT NULL,
                    worker TEXT
                );
                CREATE UNIQUE INDEX jobs_by_message ON jobs (token, message_id);
                CREATE INDEX jobs_due ON jobs (due_at) WHERE worker IS NULL;
                CREATE INDEX jobs_by_worker ON jobs (worker) WHERE worker IS NOT NULL;
                CREATE TABLE workers (
                    id TEXT PRIMARY KEY,
                    alive_until INTEGER NOT NULL
                );
                CREATE TABLE cursors (
                    stream TEXT PRIMARY KEY,
                    database_id TEXT NOT NULL,
                    seq INTEGER NOT NULL,
                    digest INTEGER NOT NULL
                )
                """),
        // The index jobs_due has all columns that counting reads. That includes `lease`, which SQLite does not
        // infer from the condition.
        Migration(
            version: 2, name: "leases by turn, worlds apart",
            sql: """
                ALTER TABLE workers RENAME TO leases;
                ALTER TABLE jobs RENAME COLUMN worker TO lease;
                ALTER TABLE jobs DROP COLUMN made_at;
                ALTER TABLE jobs ADD COLUMN environment TEXT NOT NULL DEFAULT 'production';
                UPDATE jobs SET environment = coalesce(
                    (SELECT devices.environment FROM devices WHERE devices.token = jobs.token), 'production');
                DROP INDEX jobs_due;
                DROP INDEX jobs_by_worker;
                CREATE INDEX jobs_due ON jobs (environment, due_at, is_watching, attempts, lease) WHERE lease IS NULL;
                CREATE INDEX jobs_by_lease ON jobs (lease) WHERE lease IS NOT NULL;
                CREATE INDEX jobs_by_age ON jobs (sent_at);
                ALTER TABLE devices ADD COLUMN rests_until INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE devices ADD COLUMN quarantined_by TEXT NOT NULL DEFAULT '';
                CREATE INDEX devices_quarantined ON devices (quarantined_by) WHERE quarantined_until > 0
                """),
        // Older devices belong to no session. They stay until they are registered again or removed.
        Migration(
            version: 3, name: "devices of sessions",
            sql: """
                ALTER TABLE devices ADD COLUMN session_id TEXT NOT NULL DEFAULT '';
                CREATE INDEX devices_by_session ON devices (session_id) WHERE session_id <> ''
                """),
        // The table of `LogPositionsStore`, as it was called before other services could follow a log.
        Migration(version: 4, name: "positions in logs", sql: "ALTER TABLE cursors RENAME TO log_positions"),
        // `DeviceToken` in upper and in lower case was two devices. The one registered last stays, and its jobs: those of
        // the other may be for another person.
        Migration(
            version: 5, name: "hexadecimal tokens in lower case",
            sql: """
                DELETE FROM devices WHERE token IN (
                    SELECT token FROM (
                        SELECT token, row_number() OVER (
                            PARTITION BY lower(token) ORDER BY registered_at DESC, token) AS place
                        FROM devices WHERE trim(lower(token), '0123456789abcdef') = ''
                    ) AS spellings WHERE place > 1);
                DELETE FROM jobs
                    WHERE trim(lower(token), '0123456789abcdef') = '' AND token NOT IN (SELECT token FROM devices);
                UPDATE jobs SET token = lower(token)
                    WHERE token <> lower(token) AND trim(lower(token), '0123456789abcdef') = '';
                UPDATE devices SET token = lower(token)
                    WHERE token <> lower(token) AND trim(lower(token), '0123456789abcdef') = ''
                """),
    ]
}
