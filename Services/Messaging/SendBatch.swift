import ParlorContracts
import ParlorSecurity
import ParlorServiceKit
import ParlorStorage

/// What the writes of one transaction change of rooms' chats and of what their members have settled.
///
/// What they need to know is loaded before the first of them: with each key the room's chat, the members whose counts
/// the write needs, and whether the `tempId` of a send exists. A chat and a member are written once for all of them. No
/// other transaction writes to these rooms meanwhile, as a log has one writing transaction at a time.
///
/// A person's unread messages are those that the chat shows, less those that the person has settled: sent or read, or that
/// are from before they came. So a send changes the chat and its sender, however many people are in the room.
final class SendBatch: PendingChanges, LoadsFences {
    /// What a write needs to know of a room.
    struct Key: Sendable {
        let roomID: String
        /// The key of a send, if it has one.
        var attempt: Attempt?
        var members = Members.none
    }

    /// The members whose counts a write needs.
    enum Members: Sendable {
        case none, all
        case one(String)
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
        /// The number of messages that are not deleted.
        var shown = 0
        /// The lowest version of the room's record that a write may have.
        var fence = 0
        /// The loaded members, as this transaction leaves them.
        var members: [String: Member] = [:]
        /// `lastSeq` and `shown` before this transaction.
        var before = (lastSeq: 0, shown: 0)
        /// What to add to stored members.
        var changes: [String: MemberChange] = [:]
        /// True if the row of the chat has changed.
        var isChanged = false

        func unread(of userID: String) -> Int { members[userID].map { shown - $0.settled } ?? 0 }

        mutating func settle(_ count: Int, of userID: String) {
            members[userID]?.settled += count
            changes[userID, default: MemberChange()].settled += count
        }
    }

    fileprivate struct Member {
        var joinedSeq = 0
        var settled = 0
    }

    fileprivate struct MemberChange {
        var settled = 0
        var sent = 0
        var hasRead = false
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
            try store.findMembers(key.members, of: key.roomID) { [self] in chats[key.roomID]?.members[$0] = $1 }
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

    /// Inserts a message with its room's next `seq`, which is unread by all participants but its sender.
    ///
    /// - Returns: false, with nothing done, if its sender has used its `tempId` in this room before.
    func insert(
        _ message: Message, _ attempt: Attempt?, in room: Membership, on connection: any Connection
    ) throws -> Bool {
        if let attempt, !sent.insert(attempt).inserted { return false }
        let roomID = message.roomID
        precondition(message.seq == chat(of: roomID).lastSeq + 1, "the seq that nextSeq returned")
        let store = SendsStore(connection)
        let number = try number(of: roomID, store)
        try store.insert(message, attempt, in: number)
        change(roomID) { chat in
            // With the first message all become members, so that each has a row that counts.
            if chat.lastSeq == 0 {
                for participant in room.participants {
                    chat.members[participant.userID] = Member()
                    chat.changes[participant.userID] = MemberChange()
                }
            }
            chat.isChanged = true
            chat.lastSeq = message.seq
            chat.updatedAt = message.createdAt
            chat.shown += 1
            chat.settle(1, of: message.senderID)
            chat.changes[message.senderID]?.sent += 1
        }
        return true
    }

    /// Returns the `seq` of the last message from before a person came, which needs no reading.
    func joinedSeq(of userID: String, in roomID: String) -> Int { chat(of: roomID).members[userID]?.joinedSeq ?? 0 }

    /// Counts messages as read by a person.
    ///
    /// - Returns: the number of the person's unread messages that remain.
    func read(_ count: Int, by userID: String, in roomID: String) -> Int {
        change(roomID) { chat in
            chat.settle(count, of: userID)
            chat.changes[userID]?.hasRead = true
            return chat.unread(of: userID)
        }
    }

    /// Counts a message as deleted.
    ///
    /// - Returns: the remaining unread messages of those who had not read it.
    func delete(
        seq: Int, of senderID: String, readBy readers: Set<String>, in roomID: String, at now: Timestamp
    ) -> (updatedAt: Timestamp, unread: [(userID: String, count: Int)]) {
        change(roomID) { chat in
            chat.isChanged = true
            chat.updatedAt = max(chat.updatedAt, now)
            chat.shown -= 1
            var unread: [(userID: String, count: Int)] = []
            for (userID, member) in chat.members.sorted(by: { $0.key < $1.key }) {
                if userID == senderID || member.joinedSeq >= seq || readers.contains(userID) {
                    chat.settle(-1, of: userID)
                } else {
                    unread.append((userID, chat.unread(of: userID)))
                }
            }
            return (chat.updatedAt, unread)
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
            for (userID, member) in chat.changes {
                try store.change(member, of: userID, in: number, chat)
                if member.hasRead, chat.unread(of: userID) > 0 { try store.advanceFrontier(of: userID, in: number) }
            }
        }
    }
}

extension WantedKey {
    /// What a send needs to know.
    static func send(in roomID: String, _ attempt: SendBatch.Attempt?) -> WantedKey {
        WantedKey(SendBatch.Key(roomID: roomID, attempt: attempt), of: SendBatch.self)
    }

    /// What a write needs to know that changes or uses what members have settled.
    static func settled(by members: SendBatch.Members, in roomID: String) -> WantedKey {
        WantedKey(SendBatch.Key(roomID: roomID, members: members), of: SendBatch.self)
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
                SendBatch.Chat(
                    number: $0.intOrNil(0), lastSeq: $0.int(1), updatedAt: $0.time(2), shown: $0.int(3),
                    fence: $0.int(4), before: ($0.int(1), $0.int(3))))
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

    fileprivate func findMembers(
        _ members: SendBatch.Members, of roomID: String, _ body: @escaping (String, SendBatch.Member) -> Void
    ) throws(StorageError) {
        let read = { (row: Row) in
            body(row.id(0), SendBatch.Member(joinedSeq: row.int(1), settled: row.int(2)))
        }
        switch members {
        case .none: break
        case .all: try connection.queryLater(Self.findMembers, roomID, body: read)
        case .one(let userID):
            try connection.queryLater("\(Self.findMembers) AND user_id = $2", roomID, SQLValue.id(userID), body: read)
        }
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
        try connection.executeLater(Self.writeChat, number, chat.lastSeq, chat.updatedAt.milliseconds, chat.shown)
    }

    fileprivate func change(
        _ member: SendBatch.MemberChange, of userID: String, in room: Int, _ chat: SendBatch.Chat
    ) throws(StorageError) {
        try connection.executeLater(
            Self.changeMember, room, SQLValue.id(userID), member.settled, member.sent, chat.shown, chat.lastSeq,
            chat.before.lastSeq, chat.before.shown + member.settled)
    }

    fileprivate func advanceFrontier(of userID: String, in room: Int) throws(StorageError) {
        try connection.executeLater(
            """
            UPDATE members SET frontier = coalesce((
                SELECT seq FROM messages
                WHERE messages.room = $1 AND seq > members.frontier AND \(MessagesStore.isUnread)
                ORDER BY seq LIMIT 1) - 1, frontier)
            WHERE room = $1 AND user_id = $2
            """, room, SQLValue.id(userID))
    }

    package static let findChat = """
        SELECT chats.number, coalesce(chats.last_seq, 0), coalesce(chats.updated_at, 0),
            coalesce(chats.shown, 0), coalesce(fences.version, 0)
        FROM (SELECT CAST($1 AS TEXT) AS room_id) AS wanted
        LEFT JOIN chats ON chats.room_id = wanted.room_id
        LEFT JOIN room_fences AS fences ON fences.room_id = wanted.room_id
        """
    /// Every chat has members, so the number of one that somebody deleted by hand is not used again.
    package static let findLastNumber = """
        SELECT coalesce(max(number), 0)
        FROM (SELECT max(number) AS number FROM chats UNION ALL SELECT max(room) FROM members) AS used
        """
    package static let findAttempt = """
        SELECT room FROM messages WHERE attempt = $1 AND sender_id = $2 AND temp_id = $3
        """
    package static let insertMessage = """
        INSERT INTO messages (room, seq, id, sender_id, text, created_at, temp_id, attempt)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """
    package static let insertChat = """
        INSERT INTO chats (number, room_id, last_seq, updated_at, shown) VALUES ($1, $2, 0, 0, 0)
        """
    package static let writeChat = """
        UPDATE chats SET last_seq = $2, updated_at = $3, shown = $4 WHERE number = $1
        """
    private static let findMembers = """
        SELECT user_id, joined_seq, settled FROM members
        WHERE room = (SELECT number FROM chats WHERE room_id = $1)
        """
    /// Adds to what a member has settled and sent. `$5` and `$6` are the chat's shown messages and last `seq`: who has
    /// settled all of them has none to look for before the next one. For somebody who is
    /// not a member yet, `$7` is the last `seq` from before, and `$8` what they have settled with it.
    package static let changeMember = """
        INSERT INTO members (room, user_id, joined_seq, settled, sent, frontier) VALUES ($1, $2, $7, $8, $4, $7)
        ON CONFLICT (room, user_id) DO UPDATE SET settled = members.settled + $3, sent = members.sent + $4,
            frontier = CASE WHEN members.settled + $3 = $5 THEN $6 ELSE members.frontier END
        """
}
