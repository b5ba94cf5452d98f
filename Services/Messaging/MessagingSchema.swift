import ParlorStorage

/// The migrations of this service's tables.
enum MessagingSchema {
    static let migrations = [
        // A deleted message keeps its row without its text, so that its `temp_id` stays known. Queries that
        // show messages use the index without deleted ones.
        Migration(
            version: 1, name: "messages",
            sql: """
                CREATE TABLE chats (
                    room_id TEXT PRIMARY KEY,
                    last_seq INTEGER NOT NULL,
                    updated_at INTEGER NOT NULL
                );
                CREATE TABLE messages (
                    id TEXT PRIMARY KEY,
                    room_id TEXT NOT NULL,
                    seq INTEGER NOT NULL,
                    sender_id TEXT NOT NULL,
                    text TEXT,
                    created_at INTEGER NOT NULL,
                    temp_id TEXT
                );
                CREATE UNIQUE INDEX messages_shown ON messages (room_id, seq) WHERE text IS NOT NULL;
                CREATE UNIQUE INDEX messages_by_temp_id ON messages (room_id, sender_id, temp_id)
                    WHERE temp_id IS NOT NULL;
                CREATE TABLE receipts (
                    message_id TEXT NOT NULL,
                    user_id TEXT NOT NULL,
                    read_at INTEGER NOT NULL,
                    PRIMARY KEY (message_id, user_id)
                );
                CREATE TABLE unread (
                    room_id TEXT NOT NULL,
                    user_id TEXT NOT NULL,
                    count INTEGER NOT NULL,
                    PRIMARY KEY (room_id, user_id)
                )
                """),
        // For recounting a room's numbers from all of its messages. Sends do not write to it.
        Migration(
            version: 2, name: "deleted messages by room",
            sql: "CREATE INDEX messages_deleted ON messages (room_id, seq) WHERE text IS NULL"),
        // A changed count does not change this index. It is written only when a person gets the first message of a
        // room, so it slows no other send.
        Migration(
            version: 3, name: "unread counts by person", sql: "CREATE INDEX unread_by_person ON unread (user_id)"),
        // Messages refer to their room by its chat's number, ids are in their short form, and `attempt` is a hash, in
        // place of an index of three texts. Indexes that are not in the order of the rows come last, which is faster.
        Migration(
            version: 4, name: "short rows",
            sql: """
                ALTER TABLE messages RENAME TO long_messages;
                ALTER TABLE receipts RENAME TO long_receipts;
                ALTER TABLE unread RENAME TO long_unread;
                ALTER TABLE chats RENAME TO long_chats;
                CREATE TABLE chats (
                    number INTEGER PRIMARY KEY,
                    room_id TEXT NOT NULL UNIQUE,
                    last_seq INTEGER NOT NULL,
                    updated_at INTEGER NOT NULL
                );
                CREATE TABLE messages (
                    room INTEGER NOT NULL,
                    seq INTEGER NOT NULL,
                    id BLOB NOT NULL PRIMARY KEY,
                    sender_id BLOB NOT NULL,
                    text TEXT,
                    created_at INTEGER NOT NULL,
                    temp_id BLOB,
                    attempt INTEGER
                );
                CREATE TABLE receipts (
                    message_id BLOB NOT NULL,
                    user_id BLOB NOT NULL,
                    read_at INTEGER NOT NULL,
                    PRIMARY KEY (message_id, user_id)
                );
                CREATE TABLE unread (
                    room INTEGER NOT NULL,
                    user_id TEXT NOT NULL,
                    count INTEGER NOT NULL,
                    PRIMARY KEY (room, user_id)
                );
                INSERT INTO chats (number, room_id, last_seq, updated_at)
                SELECT row_number() OVER (ORDER BY room_id), room_id, max(last_seq), max(updated_at) FROM (
                    SELECT room_id, last_seq, updated_at FROM long_chats
                    UNION ALL SELECT DISTINCT room_id, 0, 0 FROM long_messages
                    UNION ALL SELECT DISTINCT room_id, 0, 0 FROM long_unread) AS known
                GROUP BY room_id;
                INSERT INTO unread (room, user_id, count)
                SELECT number, user_id, count FROM long_unread JOIN chats ON chats.room_id = long_unread.room_id
                """,
            convert: LongMessages.shorten),
        // To undo a DROP, SQLite would hold the whole table in memory; a DELETE of all rows it cannot undo alone.
        Migration(
            version: 5, name: "short rows, complete",
            sql: """
                DELETE FROM long_messages;
                DELETE FROM long_receipts;
                DROP TABLE long_messages;
                DROP TABLE long_receipts;
                DROP TABLE long_unread;
                DROP TABLE long_chats;
                CREATE UNIQUE INDEX messages_shown ON messages (room, seq) WHERE text IS NOT NULL;
                CREATE INDEX messages_deleted ON messages (room, seq) WHERE text IS NULL;
                CREATE INDEX messages_by_attempt ON messages (attempt) WHERE attempt IS NOT NULL;
                CREATE INDEX unread_by_person ON unread (user_id)
                """),
        // A person's unread messages become a difference, so that a send changes as many rows in a room of a hundred people
        // as in one of two. Everybody who has sent or received something in a room becomes a member of it.
        Migration(
            version: 6, name: "counts by difference",
            sql: """
                ALTER TABLE chats ADD COLUMN shown INTEGER NOT NULL DEFAULT 0;
                UPDATE chats SET shown = (
                    SELECT count(*) FROM messages WHERE messages.room = chats.number AND text IS NOT NULL);
                CREATE TABLE members (
                    room INTEGER NOT NULL,
                    user_id BLOB NOT NULL,
                    joined_seq INTEGER NOT NULL,
                    settled INTEGER NOT NULL,
                    sent INTEGER NOT NULL,
                    frontier INTEGER NOT NULL,
                    PRIMARY KEY (room, user_id)
                );
                INSERT INTO members (room, user_id, joined_seq, settled, sent, frontier)
                SELECT sent.room, sent.sender_id, 0, chats.shown, sent.count, chats.last_seq
                FROM (SELECT room, sender_id, count(*) AS count FROM messages GROUP BY room, sender_id) AS sent
                JOIN chats ON chats.number = sent.room
                """, convert: UnreadCounts.convert),
        Migration(
            version: 7, name: "counts by difference, complete",
            sql: "DROP TABLE unread; CREATE INDEX members_by_person ON members (user_id)"),
        Migration(
            version: 8, name: "people who come and go",
            sql: """
                CREATE TABLE former_people (
                    id BLOB PRIMARY KEY,
                    username TEXT NOT NULL,
                    first_name TEXT
                );
                CREATE TABLE deleted_rooms (room INTEGER PRIMARY KEY)
                """),
    ]
}

/// A person's unread messages in a room, as they were counted before version 6 of the schema.
private enum UnreadCounts {
    static func convert(on connection: any Connection, _ converted: (Int) -> Void) throws {
        try forEachPage { (last: (room: Int, user: String)?) in
            let rows = try connection.all(
                """
                SELECT room, user_id, count FROM unread
                WHERE (room, user_id) > ($1, $2) ORDER BY room, user_id LIMIT \(pageLength)
                """, last?.room ?? 0, last?.user ?? ""
            ) { ($0.int(0), $0.text(1), $0.int(2)) }
            for (room, user, count) in rows {
                // Where something is unread, the first of it is looked for from the start of the room, once.
                try connection.executeLater(
                    """
                    INSERT INTO members (room, user_id, joined_seq, settled, sent, frontier)
                    SELECT number, $2, 0, shown - $3, 0, CASE WHEN $3 = 0 THEN last_seq ELSE 0 END
                    FROM chats WHERE number = $1
                    ON CONFLICT (room, user_id) DO UPDATE SET settled = excluded.settled, frontier = excluded.frontier
                    """, room, SQLValue.id(user), count)
            }
            converted(rows.count)
            return rows.last.map { ($0.0, $0.1) }
        }
    }
}

/// Messages and receipts as they were stored before version 4 of the schema.
private enum LongMessages {
    /// - Throws: `StorageError.corrupt` if a row was not read, as its id is missing.
    static func shorten(on connection: any Connection, _ converted: (Int) -> Void) throws {
        try forEachPage { last in
            let rows = try connection.all(
                """
                SELECT id, room_id, sender_id, temp_id, seq, text, created_at,
                    (SELECT number FROM chats WHERE chats.room_id = long_messages.room_id)
                FROM long_messages WHERE id > $1 ORDER BY id LIMIT \(pageLength)
                """, last ?? ""
            ) { row in
                let attempt = row.textOrNil(3).map {
                    SendBatch.Attempt(roomID: row.text(1), senderID: row.text(2), tempID: $0)
                }
                let values: [any SQLConvertible] = [
                    row.int(7), row.int(4), SQLValue.id(row.text(0)), SQLValue.id(row.text(2)), row.textOrNil(5),
                    row.int(6), attempt?.storedTempID, attempt?.hash,
                ]
                return (id: row.text(0), values: values.map(\.sqlValue))
            }
            for row in rows {
                try connection.executeLater(
                    """
                    INSERT INTO messages (room, seq, id, sender_id, text, created_at, temp_id, attempt)
                    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                    """, binding: row.values)
            }
            converted(rows.count)
            return rows.last?.id
        }
        try forEachPage { (last: (message: String, user: String)?) in
            let rows = try connection.all(
                """
                SELECT message_id, user_id, read_at FROM long_receipts
                WHERE (message_id, user_id) > ($1, $2) ORDER BY message_id, user_id LIMIT \(pageLength)
                """, last?.message ?? "", last?.user ?? ""
            ) { ($0.text(0), $0.text(1), $0.int(2)) }
            for (message, user, time) in rows {
                try connection.executeLater(
                    "INSERT INTO receipts (message_id, user_id, read_at) VALUES ($1, $2, $3)", SQLValue.id(message),
                    SQLValue.id(user), time)
            }
            converted(rows.count)
            return rows.last.map { ($0.0, $0.1) }
        }
        for table in ["messages", "receipts"] {
            let isWhole = try connection.exists(
                "SELECT 1 WHERE (SELECT count(*) FROM \(table)) = (SELECT count(*) FROM long_\(table))")
            guard isWhole else { throw StorageError.corrupt("some rows of \(table) have no id") }
        }
    }
}

/// The number of rows of a page that a migration converts.
private let pageLength = 1000

/// Calls the body with the last key of the page before, until there is none.
private func forEachPage<Key>(_ body: (Key?) throws -> Key?) rethrows {
    var last = try body(nil)
    while last != nil { last = try body(last) }
}
