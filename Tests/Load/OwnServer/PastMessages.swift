import Glibc
import ParlorMessaging
import ParlorStorage
import TestClients

/// Old messages, written directly into the database of a stopped server as messaging would have
/// left them: sending a million takes minutes. The event log, which only lasts a day, does not have
/// them.
struct PastMessages {
    private let database: DatabaseFile
    /// The time from which the messages' times count, in milliseconds since 1970.
    private let begin: Int
    private var count = 0

    /// The number of messages in one transaction.
    private static let batch = 500_000
    private static let age = 30 * 86_400_000
    private static let text = "A message as people write them, a line or two, and not the shortest there are."

    init(inDataOf folder: String) throws {
        database = try DatabaseFile(existing: "\(folder)/messaging.db")
        begin = time(nil) * 1000 - Self.age
    }

    func close() { database.close() }

    /// Adds messages to the end of a room; the other person has read none of them.
    mutating func add(_ number: Int, to room: String, from sender: Person, to other: Person) throws {
        var left = number
        while left > 0 {
            let some = min(left, Self.batch)
            try add(batch: some, to: room, from: sender, to: other)
            left -= some
        }
    }

    private mutating func add(batch: Int, to room: String, from sender: Person, to other: Person) throws {
        let start = begin + count
        try database.write(in: 0) { connection in
            try connection.execute(
                """
                INSERT INTO chats (number, room_id, last_seq, updated_at, shown)
                SELECT coalesce(max(number), 0) + 1, $1, 0, $2, 0 FROM chats WHERE true ON CONFLICT DO NOTHING
                """, room, start)
            try connection.execute(
                """
                WITH RECURSIVE past (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM past WHERE n < $1)
                INSERT INTO messages (room, seq, id, sender_id, text, created_at)
                SELECT number, last_seq + n,
                    unhex(printf('%08x%04x70008000%012x', ($2 + n) >> 16, ($2 + n) & 65535, $2 + n)), $4, $5, $2 + n
                FROM past CROSS JOIN chats WHERE room_id = $3
                """, batch, start, room, SQLValue.id(sender.id), Self.text)
            try connection.execute(
                "UPDATE chats SET last_seq = last_seq + $2, updated_at = $3, shown = shown + $2 WHERE room_id = $1",
                room,
                batch, start + batch)
            let chat = try connection.first(SendsStore.findChat, room) { (number: $0.int(0), lastSeq: $0.int(1)) }
            for (person, sent) in [(sender, batch), (other, 0)] {
                try connection.execute(
                    SendsStore.changeMember, chat?.number, SQLValue.id(person.id), sent, sent, chat?.lastSeq,
                    chat?.lastSeq, 0, sent)
            }
        }
        count += batch
    }
}
