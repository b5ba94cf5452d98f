import ParlorStorage

/// The migrations of this service's tables.
enum RoomsSchema {
    /// The migrations. `people` contains each person's names as they were when the person's last room was
    /// created, so that no list waits for Accounts.
    static let migrations = [
        Migration(
            version: 1, name: "rooms and their participants",
            sql: """
                CREATE TABLE people (
                    id TEXT PRIMARY KEY,
                    username TEXT NOT NULL,
                    first_name TEXT
                );
                CREATE TABLE rooms (
                    id TEXT PRIMARY KEY,
                    name TEXT,
                    created_by TEXT NOT NULL REFERENCES people (id),
                    created_at INTEGER NOT NULL,
                    updated_at INTEGER NOT NULL
                );
                CREATE TABLE participants (
                    room_id TEXT NOT NULL REFERENCES rooms (id),
                    position INTEGER NOT NULL,
                    person_id TEXT NOT NULL REFERENCES people (id),
                    joined_at INTEGER NOT NULL,
                    PRIMARY KEY (room_id, position)
                );
                CREATE UNIQUE INDEX participants_by_person ON participants (person_id, room_id);
                CREATE TABLE creations (
                    created_by TEXT NOT NULL REFERENCES people (id),
                    client_request_id TEXT NOT NULL,
                    room_id TEXT NOT NULL REFERENCES rooms (id),
                    PRIMARY KEY (created_by, client_request_id)
                )
                """),
        // The number of rooms that a person has created: with another person, and under '' with anyone.
        Migration(
            version: 2, name: "how many rooms a person has made",
            sql: """
                CREATE TABLE rooms_made (
                    creator_id TEXT NOT NULL,
                    other_id TEXT NOT NULL,
                    count INTEGER NOT NULL,
                    PRIMARY KEY (creator_id, other_id)
                );
                INSERT INTO rooms_made (creator_id, other_id, count)
                SELECT created_by, '', count(*) FROM rooms GROUP BY created_by
                UNION ALL
                SELECT rooms.created_by, participants.person_id, count(*)
                FROM rooms JOIN participants ON participants.room_id = rooms.id
                WHERE participants.person_id <> rooms.created_by
                GROUP BY rooms.created_by, participants.person_id
                """),
        Migration(
            version: 3, name: "the version of a room's record",
            sql: """
                ALTER TABLE rooms ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
                ALTER TABLE rooms ADD COLUMN kind TEXT NOT NULL DEFAULT 'direct';
                ALTER TABLE rooms ADD COLUMN is_closed INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE participants ADD COLUMN role TEXT NOT NULL DEFAULT 'member';
                UPDATE participants SET role = 'owner' WHERE position = 0
                """),
        // An idempotency key outlives its room, so it refers to none.
        Migration(
            version: 4, name: "groups",
            sql: """
                ALTER TABLE participants ADD COLUMN state TEXT NOT NULL DEFAULT 'in';
                CREATE TABLE pending_changes (
                    room_id TEXT PRIMARY KEY,
                    version INTEGER NOT NULL,
                    acts TEXT NOT NULL
                );
                CREATE TABLE keepers (name TEXT PRIMARY KEY);
                CREATE TABLE additions (
                    adder_id TEXT NOT NULL,
                    at INTEGER NOT NULL,
                    count INTEGER NOT NULL
                );
                CREATE INDEX additions_by_adder ON additions (adder_id, at);
                ALTER TABLE creations RENAME TO bound_creations;
                CREATE TABLE creations (
                    created_by TEXT NOT NULL,
                    client_request_id TEXT NOT NULL,
                    room_id TEXT NOT NULL,
                    PRIMARY KEY (created_by, client_request_id)
                );
                INSERT INTO creations (created_by, client_request_id, room_id)
                SELECT created_by, client_request_id, room_id FROM bound_creations;
                DROP TABLE bound_creations
                """),
        Migration(
            version: 5, name: "changes of people that keepers have missed",
            sql: """
                CREATE TABLE missed_changes (
                    keeper TEXT NOT NULL,
                    room_id TEXT NOT NULL,
                    version INTEGER NOT NULL,
                    change TEXT NOT NULL,
                    PRIMARY KEY (keeper, room_id, version)
                )
                """),
        // So that a list reads only the people that it shows: those up to this position.
        Migration(
            version: 6, name: "the number of a room's people",
            sql: """
                ALTER TABLE rooms ADD COLUMN participant_count INTEGER NOT NULL DEFAULT 2;
                ALTER TABLE rooms ADD COLUMN last_listed INTEGER NOT NULL DEFAULT 1;
                UPDATE rooms SET
                    participant_count = (SELECT count(*) FROM participants WHERE room_id = rooms.id AND state = 'in'),
                    last_listed = coalesce((
                        SELECT position FROM participants WHERE room_id = rooms.id AND state = 'in'
                        ORDER BY position LIMIT 1 OFFSET 9), 2147483647)
                WHERE kind = 'group'
                """),
        // So that a gateway knows a fence that was held up on its way.
        Migration(
            version: 7, name: "when a change of people was stored",
            sql: "ALTER TABLE pending_changes ADD COLUMN stored_after INTEGER"),
    ]
}
