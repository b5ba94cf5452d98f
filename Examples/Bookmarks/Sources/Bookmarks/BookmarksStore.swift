import ParlorContracts
import ParlorStorage

/// The SQL of bookmarks, in the transaction of a connection.
///
/// Until Messaging has answered that its message exists, a bookmark has the id of the attempt to set it. Only
/// `deleteAll` and `messageIDs` see it before.
struct BookmarksStore {
    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    func bookmark(_ messageID: String, in roomID: String, of userID: String) throws -> Bookmark? {
        try connection.first(
            "SELECT message_id, created_at FROM bookmarks WHERE \(Self.isConfirmed) AND message_id = $3", userID,
            roomID, messageID, body: Self.bookmark)
    }

    /// Stores an unconfirmed bookmark, unless the person has `limit` bookmarks in the room. If another attempt is
    /// unconfirmed, that one stays.
    ///
    /// - Returns: the id of the attempt that is stored; nil if there are too many bookmarks.
    func insert(
        _ bookmark: Bookmark, as attempt: String, in roomID: String, of userID: String, upTo limit: Int
    ) throws -> String? {
        // No request takes so long. These attempts have ended without a reply.
        try connection.execute(
            "DELETE FROM bookmarks WHERE user_id = $1 AND room_id = $2 AND attempt IS NOT NULL AND created_at < $3",
            userID, roomID, bookmark.createdAt.milliseconds - 60_000)
        let count = try connection.first(
            "SELECT count(*) FROM bookmarks WHERE user_id = $1 AND room_id = $2 AND message_id <> $3", userID, roomID,
            bookmark.messageID
        ) { $0.int(0) }
        guard count ?? 0 < limit else { return nil }
        try connection.execute(
            """
            INSERT INTO bookmarks (user_id, room_id, message_id, created_at, attempt) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (user_id, room_id, message_id) DO NOTHING
            """, userID, roomID, bookmark.messageID, bookmark.createdAt.milliseconds, attempt)
        return try connection.first(
            "SELECT attempt FROM bookmarks WHERE user_id = $1 AND room_id = $2 AND message_id = $3", userID, roomID,
            bookmark.messageID
        ) { $0.text(0) }
    }

    /// Confirms the bookmark of an attempt, or deletes it if its message does not exist. A later attempt stays as it
    /// is: the reply may be older.
    ///
    /// - Returns: true if it was confirmed now.
    func settle(_ attempt: String, exists: Bool, of userID: String) throws -> Bool {
        let change = exists ? "UPDATE bookmarks SET attempt = NULL" : "DELETE FROM bookmarks"
        let count = try connection.execute("\(change) WHERE user_id = $1 AND attempt = $2", userID, attempt)
        return exists && count == 1
    }

    /// - Returns: false if there was no bookmark.
    func delete(_ messageID: String, in roomID: String, of userID: String) throws -> Bool {
        try connection.execute(
            "DELETE FROM bookmarks WHERE \(Self.isConfirmed) AND message_id = $3", userID, roomID, messageID) == 1
    }

    /// Deletes all bookmarks on messages.
    ///
    /// - Returns: whose number of bookmarks has changed, and in which rooms; each once.
    func deleteAll(on messageIDs: [String]) throws -> [(userID: String, roomID: String)] {
        let changed = try connection.all(
            """
            SELECT DISTINCT user_id, room_id FROM bookmarks
            WHERE message_id IN (SELECT value FROM json_each($1)) AND attempt IS NULL
            """, SQLValue.list(messageIDs)
        ) { (userID: $0.text(0), roomID: $0.text(1)) }
        try connection.execute(
            "DELETE FROM bookmarks WHERE message_id IN (SELECT value FROM json_each($1))", SQLValue.list(messageIDs))
        return changed
    }

    /// Deletes the bookmarks of people who have left a room.
    func follow(_ change: PeopleChange) throws {
        for leaver in change.left {
            try connection.execute(
                "DELETE FROM bookmarks WHERE user_id = $1 AND room_id = $2", leaver.userID, change.roomID)
        }
    }

    /// Returns a person's bookmarks in a room, newest first.
    func bookmarks(in roomID: String, of userID: String) throws -> [Bookmark] {
        try connection.all(
            """
            SELECT message_id, created_at FROM bookmarks WHERE \(Self.isConfirmed)
            ORDER BY created_at DESC, message_id DESC
            """, userID, roomID, body: Self.bookmark)
    }

    /// Returns a person's number of bookmarks in those rooms that have any.
    func counts(in roomIDs: [String], of userID: String) throws -> [String: Int] {
        var counts: [String: Int] = [:]
        try connection.query(
            """
            SELECT room_id, count(*) FROM bookmarks
            WHERE user_id = $1 AND room_id IN (SELECT value FROM json_each($2)) AND attempt IS NULL GROUP BY room_id
            """, userID, SQLValue.list(roomIDs)
        ) { counts[$0.text(0)] = $0.int(1) }
        return counts
    }

    /// Returns all messages with bookmarks.
    func messageIDs() throws -> [String] {
        try connection.all("SELECT DISTINCT message_id FROM bookmarks") { $0.text(0) }
    }

    /// The confirmed bookmarks of a person, $1, in a room, $2.
    private static let isConfirmed = "user_id = $1 AND room_id = $2 AND attempt IS NULL"

    private static func bookmark(_ row: Row) -> Bookmark { Bookmark(messageID: row.text(0), createdAt: row.time(1)) }
}

enum BookmarksSchema {
    static let migrations = [
        Migration(
            version: 1, name: "bookmarks",
            sql: """
                CREATE TABLE bookmarks (
                    user_id TEXT NOT NULL,
                    room_id TEXT NOT NULL,
                    message_id TEXT NOT NULL,
                    created_at INTEGER NOT NULL,
                    attempt TEXT,
                    PRIMARY KEY (user_id, room_id, message_id)
                );
                CREATE INDEX bookmarks_by_message ON bookmarks (message_id)
                """)
    ]
}
