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
    ]
}
