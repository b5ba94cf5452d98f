import ParlorContracts
import ParlorServiceKit
import ParlorStorage

/// The SQL of the people who come and go, in the transaction of a connection.
struct MembersStore {
    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    /// Follows a change of a room's people. Who comes has nothing to read; of who leaves, the names stay for what they wrote.
    func follow(_ change: PeopleChange) throws {
        for userID in change.joined {
            // Without a chat there is nothing to settle: all become members with the first message.
            try connection.execute(
                """
                INSERT INTO members (room, user_id, joined_seq, settled, sent, frontier)
                SELECT number, $2, last_seq, shown, 0, last_seq FROM chats WHERE room_id = $1
                ON CONFLICT DO NOTHING
                """, change.roomID, SQLValue.id(userID))
        }
        // In one order, as transactions of other logs write to the same people.
        for leaver in change.left.sorted(by: { $0.userID < $1.userID }) {
            try remove(leaver.userID, from: change.roomID)
            try connection.execute(
                """
                INSERT INTO former_people (id, username, first_name) VALUES ($1, $2, $3)
                ON CONFLICT (id) DO UPDATE SET username = excluded.username, first_name = excluded.first_name
                """, SQLValue.id(leaver.userID), leaver.username, leaver.firstName)
        }
        if change.isLast {
            try connection.execute(
                "INSERT INTO deleted_rooms (room) SELECT number FROM chats WHERE room_id = $1 ON CONFLICT DO NOTHING",
                change.roomID)
        }
    }

    func remove(_ userID: String, from roomID: String) throws {
        try connection.execute(
            "DELETE FROM members WHERE user_id = $2 AND room = (SELECT number FROM chats WHERE room_id = $1)", roomID,
            SQLValue.id(userID))
    }

    /// Returns the names of people who have left a room, by id.
    func names(of userIDs: [String]) throws -> [String: FormerPerson] {
        var names: [String: FormerPerson] = [:]
        try connection.query(
            "SELECT id, username, first_name FROM former_people WHERE id IN (SELECT unhex(value) FROM json_each($1))",
            SQLValue.ids(userIDs)
        ) { names[$0.id(0)] = FormerPerson(username: $0.text(1), firstName: $0.textOrNil(2)) }
        return names
    }

    // MARK: Deleted rooms

    /// Returns true if the room is deleted, and still has rows here.
    func isDeleted(_ roomID: String) throws -> Bool {
        try connection.exists("SELECT 1 FROM deleted_rooms JOIN chats ON number = room WHERE room_id = $1", roomID)
    }

    /// Returns the number of a deleted room that still has rows here.
    func deletedRoom() throws -> Int? {
        try connection.first("SELECT room FROM deleted_rooms ORDER BY room LIMIT 1") { $0.int(0) }
    }

    /// Deletes some of a deleted room's messages; the chat with the last of them.
    ///
    /// - Returns: true if nothing is left.
    func deleteMessages(of room: Int, count: Int) throws -> Bool {
        let deleted = try connection.all(
            """
            DELETE FROM messages WHERE id IN (
                SELECT id FROM messages WHERE room = $1 AND text IS NOT NULL
                UNION ALL SELECT id FROM messages WHERE room = $1 AND text IS NULL LIMIT $2)
            RETURNING id
            """, room, count
        ) { $0.id(0) }
        try connection.execute(
            "DELETE FROM receipts WHERE message_id IN (SELECT unhex(value) FROM json_each($1))", SQLValue.ids(deleted))
        guard deleted.count < count else { return false }
        try connection.execute("DELETE FROM members WHERE room = $1", room)
        try connection.execute("DELETE FROM chats WHERE number = $1", room)
        try connection.execute("DELETE FROM deleted_rooms WHERE room = $1", room)
        return true
    }
}

/// The names of somebody who has left a room.
struct FormerPerson: Sendable {
    let username: String
    let firstName: String?
}
