import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorServiceKit
import ParlorStorage

/// Stands in for the messaging service: a test sends and deletes messages. Like Messaging it answers which messages
/// exist (`messaging.existing`), and has a log with the facts `messageSent` and `messageDeleted`, and a snapshot. It has
/// no routes and no events for clients.
///
///     let messaging = try ServiceHarness<MessagingStandIn>(bus: bus)
///     try await messaging.run {
///         try await messaging.service.send("message-1", in: "room-1", of: ["alice", "bob"])
///         try await messaging.service.delete("message-1")
///     }
public struct MessagingStandIn: Service {
    public static let name = "messaging"
    public static let migrations = [
        Migration(
            version: 1, name: "messages",
            sql: """
                CREATE TABLE messages (
                    id TEXT PRIMARY KEY, room_id TEXT NOT NULL, participants TEXT NOT NULL, sender_id TEXT NOT NULL,
                    text TEXT NOT NULL, created_at INTEGER NOT NULL
                )
                """)
    ]
    private let context: ServiceContext

    public init(_ context: ServiceContext) { self.context = context }

    public func register(in requests: inout RequestTable) {
        requests.onRead(Endpoint(Subject.existingMessages)) { request, connection in
            let ids = try request.fields.strings("messageIds", count: 0...1000)
            let roomID = try request.fields.optionalString("roomId")
            let existing = try connection.all(
                """
                SELECT id FROM messages
                WHERE id IN (SELECT value FROM json_each($1)) AND room_id = coalesce($2, room_id)
                """, SQLValue.list(ids), roomID
            ) { $0.text(0) }
            let answer = JSONWriter.object { $0.member("messageIds", array: { for id in existing { $0.string(id) } }) }
            return Reply(.ok, answer)
        }
        requests.onSnapshot(Endpoint(Subject.snapshot(of: Self.logID)), of: context.database) {
            after, limit, connection in
            try connection.all(
                "SELECT id, room_id, sender_id, text, created_at FROM messages WHERE id > $1 ORDER BY id LIMIT $2",
                after, limit, body: Self.item)
        }
    }

    /// Sends a message to a room.
    ///
    /// - Parameter participants: who is in the room. The first one is the sender.
    public func send(
        _ id: String, _ text: String = "Hello", in roomID: String, of participants: [String]
    ) async throws {
        let (now, senderID) = (context.clock.now(), participants[0])
        try await context.database.write { connection in
            try connection.execute(
                """
                INSERT INTO messages (id, room_id, participants, sender_id, text, created_at)
                VALUES ($1, $2, $3, $4, $5, $6)
                """, id, roomID, SQLValue.list(participants), senderID, text, now.milliseconds)
            try EventLog.append(
                at: now, roomID: roomID, participants: participants, emissions: [],
                fact: .messageSent(id: id, senderID: senderID, senderName: senderID), on: connection)
        }
    }

    /// Deletes a message; does nothing if there is none.
    public func delete(_ id: String) async throws {
        try await context.database.write { [now = context.clock.now()] connection in
            let room = try connection.first(
                "DELETE FROM messages WHERE id = $1 RETURNING room_id, participants", id
            ) { (id: $0.text(0), participants: $0.json(1).array?.compactMap(\.string) ?? []) }
            guard let room else { return }
            try EventLog.append(
                at: now, roomID: room.id, participants: room.participants, emissions: [],
                fact: .messageDeleted(id: id), on: connection)
        }
    }

    /// Deletes the log's entries before this one, as after a day.
    public func prune(before seq: Int) async throws {
        try await context.database.write { _ = try $0.execute("DELETE FROM events WHERE seq < $1", seq) }
    }

    private static func item(_ row: Row) -> SnapshotItem {
        let json = JSONWriter.object {
            $0.member("id", row.text(0))
            $0.member("roomId", row.text(1))
            $0.member("senderId", row.text(2))
            $0.member("text", row.text(3))
            $0.member("createdAt", row.int(4))
        }
        return SnapshotItem(id: row.text(0), json: json)
    }
}
