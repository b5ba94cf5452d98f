import ParlorContracts
import ParlorSecurity
import ParlorServiceKit
import ParlorStorage

/// What the writes of one transaction change of rooms' chats: a send's number and count, a reader's count, the time of a
/// deletion.
///
/// What they need to know is loaded before the first of them: with each key the room's last `seq`, the counts of people
/// whose counts fall, and whether the `tempId` of a send exists. A room's last `seq` and a person's count are written once
/// for all of them. No other transaction writes to these rooms meanwhile, as a log has one writing transaction at a time.
final class SendBatch: PendingChanges, LoadsFences {
    /// What a write needs to know of a room.
    struct Key: Sendable {
        let roomID: String
        /// The key of a send, if it has one.
        var attempt: Attempt?
        /// The people whose unread messages become fewer.
        var readers: [String] = []
    }

    /// A sender's idempotency key in a room.
    struct Attempt: Sendable, Hashable {
        let roomID: String
        let senderID: String
        /// The `tempId` as it is stored. Two texts may be equal to Swift and not to the database, which compares bytes.
        let storedTempID: SQLValue
        /// The number under which the message is found. Two attempts may have the same, but nobody can choose `tempId`s so
        /// that many have it, as it is a part of a cryptographic hash.
        let hash: Int

        init(roomID: String, senderID: String, tempID: String) {
            self.roomID = roomID
            self.senderID = senderID
            storedTempID = .id(tempID)
            var text: [UInt8] = []
            text.reserveCapacity(160)
            for part in [roomID, senderID, tempID] {
                text += part.utf8
                text.append(0)
            }
            hash = SHA256.hash(text).prefix(8).reduce(0) { $0 << 8 | Int($1) }
        }

        func hash(into hasher: inout Hasher) { hasher.combine(hash) }
    }

    fileprivate struct Chat {
        /// The number of a room that ever had a message.
        var number: Int?
        var lastSeq = 0
        var updatedAt = Timestamp(milliseconds: 0)
        /// The lowest version of the room's record that a write may have.
        var fence = 0
        /// The stored counts of those who have one, of the readers.
        var unread: [String: Int] = [:]
        /// The amounts to add to people's counts.
        var changes: [String: Int] = [:]
        /// True if `lastSeq` or `updatedAt` has changed.
        var isChanged = false
    }

    /// The chats by room.
    private var chats: [String: Chat] = [:]
    /// The attempts that were sent.
    private var sent: Set<Attempt> = []
    /// The highest number of a chat.
    private var lastNumber = 0
    /// The log of the rooms.
    private var log = 0

    init() {}

    func load(_ keys: [Key], on connection: any Connection) throws(StorageError) {
        let store = SendsStore(connection)
        log = connection.log
        for key in keys {
            if chats[key.roomID] == nil {
                chats[key.roomID] = Chat()
                try store.findChat(key.roomID) { [self] in chats[key.roomID] = $0 }
            }
            if let attempt = key.attempt {
                try store.find(attempt) { [self] in if $0 == chats[key.roomID]?.number { sent.insert(attempt) } }
            }
            for reader in key.readers {
                try store.findUnread(of: reader, in: key.roomID) { [self] in chats[key.roomID]?.unread[reader] = $0 }
            }
        }
        // On PostgreSQL no room is known yet, and it costs no round trip.
        if chats.values.contains(where: { $0.number == nil }) { try store.findLastNumber { [self] in lastNumber = $0 } }
    }

    func fence(of roomID: String) -> Int? { chats[roomID]?.fence }

    /// Returns the room's next `seq`, for a message that is inserted now, and a time that is not before the
    /// room's last change, as the clock may have gone back.
    func nextSeq(in roomID: String, at now: Timestamp) -> (seq: Int, at: Timestamp) {
        let chat = chat(of: roomID)
        return (chat.lastSeq + 1, max(chat.updatedAt, now))
    }

    /// Inserts a message with its room's next `seq`, unread by these people.
    ///
    /// - Returns: false, with nothing done, if its sender has used its `tempId` in this room before.
    func insert(
        _ message: Message, _ attempt: Attempt?, unreadBy readers: some Sequence<String>, on connection: any Connection
    ) throws -> Bool {
        if let attempt, !sent.insert(attempt).inserted { return false }
        precondition(message.seq == chat(of: message.roomID).lastSeq + 1, "the seq that nextSeq returned")
        let store = SendsStore(connection)
        try store.insert(message, attempt, in: try number(of: message.roomID, store))
        change(message.roomID) { chat in
            chat.isChanged = true
            chat.lastSeq = message.seq
            chat.updatedAt = message.createdAt
            for reader in readers { chat.changes[reader, default: 0] += 1 }
        }
        return true
    }

    /// Moves the time of a room's last change forward.
    ///
    /// - Returns: the resulting time.
    func touch(_ roomID: String, at now: Timestamp) -> Timestamp {
        change(roomID) { chat in
            chat.isChanged = true
            chat.updatedAt = max(chat.updatedAt, now)
            return chat.updatedAt
        }
    }

    /// - Returns: the remaining count of a reader.
    func subtractUnread(_ count: Int, of userID: String, in roomID: String) -> Int {
        change(roomID) { chat in
            let changes = chat.changes[userID]
            // A person to whom nobody has written has no count.
            guard let stored = chat.unread[userID] ?? changes.map({ _ in 0 }) else { return 0 }
            chat.changes[userID] = (changes ?? 0) - count
            return stored + (changes ?? 0) - count
        }
    }

    /// Returns a room's number. A new one is written at once, so that later writes of the batch find the room by its id.
    private func number(of roomID: String, _ store: SendsStore) throws -> Int {
        if let number = chat(of: roomID).number { return number }
        var next = lastNumber + 1
        if log != 0 {
            // Transactions of other logs give numbers, too, at the same time: each place has a class of them.
            let (place, places) = (LogLayout.place(of: log).index, LogLayout.range.upperBound)
            next += (place + places - next % places) % places
        }
        try store.insertChat(next, of: roomID)
        lastNumber = next
        chats[roomID]?.number = next
        return next
    }

    private func chat(of roomID: String) -> Chat {
        guard let chat = chats[roomID] else { preconditionFailure("a write changes a room that it did not ask for") }
        return chat
    }

    private func change<T>(_ roomID: String, _ body: (inout Chat) -> T) -> T {
        // Taken out, so that it is not copied.
        var chat = chat(of: roomID)
        chats[roomID] = nil
        defer { chats[roomID] = chat }
        return body(&chat)
    }

    func write(on connection: any Connection) throws(StorageError) {
        let store = SendsStore(connection)
        for chat in chats.values {
            guard let number = chat.number else { continue }
            if chat.isChanged { try store.setChat(number, to: chat) }
            for (userID, count) in chat.changes { try store.addUnread(count, of: userID, in: number) }
        }
    }
}

extension WantedKey {
    /// What a send needs to know.
    static func send(in roomID: String, _ attempt: SendBatch.Attempt?) -> WantedKey {
        WantedKey(SendBatch.Key(roomID: roomID, attempt: attempt), of: SendBatch.self)
    }

    /// What a write needs to know that makes the unread messages of these people fewer.
    static func unread(in roomID: String, of readers: [String]) -> WantedKey {
        WantedKey(SendBatch.Key(roomID: roomID, readers: readers), of: SendBatch.self)
    }
}

/// The SQL of `SendBatch`, in the transaction of a connection; `parlor-bench` measures the databases with its statements.
package struct SendsStore {
    private let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    /// Finds a room's chat, and its fence.
    fileprivate func findChat(
        _ roomID: String, _ body: @escaping (SendBatch.Chat) -> Void
    ) throws(StorageError) {
        try connection.queryLater(Self.findChat, roomID) {
            body(
                SendBatch.Chat(number: $0.intOrNil(0), lastSeq: $0.int(1), updatedAt: $0.time(2), fence: $0.int(3)))
        }
    }

    fileprivate func findLastNumber(_ body: @escaping (Int) -> Void) throws(StorageError) {
        try connection.queryLater(Self.findLastNumber) { body($0.int(0)) }
    }

    /// Finds the rooms in which something was sent with this key, also if it was deleted since.
    fileprivate func find(_ attempt: SendBatch.Attempt, _ body: @escaping (Int) -> Void) throws(StorageError) {
        try connection.queryLater(Self.findAttempt, attempt.hash, SQLValue.id(attempt.senderID), attempt.storedTempID) {
            body($0.int(0))
        }
    }

    fileprivate func findUnread(
        of userID: String, in roomID: String, _ body: @escaping (Int) -> Void
    ) throws(StorageError) {
        try connection.queryLater(
            """
            SELECT count FROM unread WHERE room = (SELECT number FROM chats WHERE room_id = $1) AND user_id = $2
            """, roomID, userID
        ) { body($0.int(0)) }
    }

    fileprivate func insert(
        _ message: Message, _ attempt: SendBatch.Attempt?, in room: Int
    ) throws(StorageError) {
        try connection.executeLater(
            Self.insertMessage, room, message.seq, SQLValue.id(message.id), SQLValue.id(message.senderID), message.text,
            message.createdAt.milliseconds, attempt?.storedTempID, attempt?.hash)
    }

    fileprivate func insertChat(_ number: Int, of roomID: String) throws(StorageError) {
        try connection.executeLater(Self.insertChat, number, roomID)
    }

    fileprivate func setChat(_ number: Int, to chat: SendBatch.Chat) throws(StorageError) {
        try connection.executeLater(Self.writeChat, number, chat.lastSeq, chat.updatedAt.milliseconds)
    }

    fileprivate func addUnread(_ count: Int, of userID: String, in room: Int) throws(StorageError) {
        try connection.executeLater(Self.writeUnread, room, userID, count)
    }

    package static let findChat = """
        SELECT chats.number, coalesce(chats.last_seq, 0), coalesce(chats.updated_at, 0), coalesce(fences.version, 0)
        FROM (SELECT CAST($1 AS TEXT) AS room_id) AS wanted
        LEFT JOIN chats ON chats.room_id = wanted.room_id
        LEFT JOIN room_fences AS fences ON fences.room_id = wanted.room_id
        """
    /// Every chat has counts, so the number of one that somebody deleted by hand is not used again.
    package static let findLastNumber = """
        SELECT coalesce(max(number), 0)
        FROM (SELECT max(number) AS number FROM chats UNION ALL SELECT max(room) FROM unread) AS used
        """
    package static let findAttempt = """
        SELECT room FROM messages WHERE attempt = $1 AND sender_id = $2 AND temp_id = $3
        """
    package static let insertMessage = """
        INSERT INTO messages (room, seq, id, sender_id, text, created_at, temp_id, attempt)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """
    package static let insertChat = """
        INSERT INTO chats (number, room_id, last_seq, updated_at) VALUES ($1, $2, 0, 0)
        """
    package static let writeChat = "UPDATE chats SET last_seq = $2, updated_at = $3 WHERE number = $1"
    package static let writeUnread = """
        INSERT INTO unread (room, user_id, count) VALUES ($1, $2, $3)
        ON CONFLICT (room, user_id) DO UPDATE SET count = unread.count + $3
        """
}
