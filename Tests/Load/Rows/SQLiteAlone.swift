import CParlorSQLite
import Glibc
import ParlorEventLog
import ParlorMessaging
import ParlorReactor
import ParlorStorage
import ParlorTestSupport
import TestClients

/// SQLite's own cost of a send in the other rows. It runs messaging's statements for a send, and for
/// the send's part of a commit, in C calls without the rest of Parlor. The texts have the same
/// lengths, and the disk is the same.
///
/// The processor time of each send includes this time, on any core. The rate includes the waits for
/// the disk, during which a server can answer others. The measurement blocks its loop.
struct SQLiteAlone {
    /// A folder on the measured disk.
    let folder: String
    let seconds: Int

    /// The numbers of sends in a commit: one; as many as a fan-out has in flight; a part of those of
    /// concurrent senders; and all of these.
    private static let batches = [1, 8, 128, 1024]
    private static let rooms = 32

    func measure() async throws -> [Row] {
        guard access(folder, W_OK) == 0 else { throw ClientError("nothing can be written to \(folder)") }
        let own = TemporaryFolder(in: folder)
        defer { withExtendedLifetime(own) {} }
        let file = own.file("messaging.db")
        await (try SQLiteDatabase(.file(file), migrations: MessagingService.migrations)).close()
        return try Self.batches.map { try measure(file, batch: $0) }
    }

    private func measure(_ file: String, batch: Int) throws -> Row {
        let connection = try PlainSQLite(file)
        for pragma in ["journal_mode = WAL", "synchronous = FULL", "cache_size = -16384", "wal_autocheckpoint = 4096"] {
            try connection.run("PRAGMA \(pragma)")
        }
        let statements = try Statements(connection)
        let before = try connection.prepare("SELECT count(*) FROM messages").run()
        let start = LoopInstant.now()
        let used = ProcessorTime.usedByThisThread()
        var sent = 0
        repeat {
            try statements.send(batch, from: sent)
            sent += batch
        } while LoopInstant.now() - start < .seconds(seconds)
        let processor = (ProcessorTime.usedByThisThread() - used) / Double(sent)
        let elapsed = (LoopInstant.now() - start) / .seconds(1)
        let stored = try connection.prepare("SELECT count(*) FROM messages").run() - before
        return Row(
            name: "SQLite alone: the statements of a send, \(batch) in a commit",
            figures: [
                Figure("sends", Double(sent) / elapsed, .perSecond),
                Figure("processor time of a send", processor * 1000, .milliseconds),
            ], faults: stored == sent ? [] : ["\(sent) were sent, \(stored) stored"])
    }

    /// Messaging's own statements, with bindings of equal length.
    private final class Statements {
        private let findChat, findLastNumber, findAttempt, writeChat, message, member, head, entry, begin,
            commit: PlainSQLite.Statement
        private let texts = SendTexts(rooms: SQLiteAlone.rooms)
        /// The start in milliseconds since 1970.
        private let began = time(nil) * 1000

        init(_ connection: PlainSQLite) throws(ClientError) {
            findChat = try connection.prepare(SendsStore.findChat)
            findLastNumber = try connection.prepare(SendsStore.findLastNumber)
            findAttempt = try connection.prepare(SendsStore.findAttempt)
            writeChat = try connection.prepare(SendsStore.writeChat)
            message = try connection.prepare(SendsStore.insertMessage)
            member = try connection.prepare(SendsStore.changeMember)
            head = try connection.prepare(TransactionRecord.findHead).bind(0, at: 1).bind(LogKeys(0).end, at: 2)
            entry = try connection.prepare(EventLog.insertEntry)
            begin = try connection.prepare("BEGIN IMMEDIATE")
            commit = try connection.prepare("COMMIT")
            guard try findLastNumber.run() == 0 else { return }
            let insertChat = try connection.prepare(SendsStore.insertChat)
            for (index, room) in texts.rooms.enumerated() {
                try insertChat.bind(index + 1, at: 1).bind(room, at: 2).run()
            }
        }

        /// Sends messages in one commit.
        func send(_ count: Int, from first: Int) throws(ClientError) {
            try begin.run()
            var seq = try head.run()
            try findLastNumber.run()
            /// The last seq and the number of sent messages of each room.
            var chats = texts.rooms.map { _ in (lastSeq: 0, sent: 0) }
            for number in first..<first + count {
                seq += 1
                let (at, index) = (began + number, number * 7919 % texts.rooms.count)
                for id in [texts.messageID, texts.requestID] { id.end(with: seq) }
                // In no order, like clients' own.
                let attempt = (seq &* 6_364_136_223_846_793_005) & Int.max
                texts.tempID.end(with: attempt)
                try findAttempt.bind(attempt, at: 1).bind(bytes: texts.senderID, at: 2).bind(bytes: texts.tempID, at: 3)
                    .run()
                if chats[index].sent == 0 {
                    chats[index].lastSeq = try findChat.bind(texts.rooms[index], at: 1).run(column: 1)
                }
                chats[index].lastSeq += 1
                chats[index].sent += 1
                try message.bind(index + 1, at: 1).bind(chats[index].lastSeq, at: 2).bind(bytes: texts.messageID, at: 3)
                    .bind(bytes: texts.senderID, at: 4).bind(texts.text, at: 5).bind(at, at: 6)
                    .bind(bytes: texts.tempID, at: 7).bind(attempt, at: 8).run()
                try entry.bind(seq, at: 1).bind(at, at: 2).bind(texts.rooms[index], at: 3).bind(
                    texts.participants, at: 4
                )
                .bind(texts.emissions, at: 5).bind(texts.requestID, at: 6).run()
            }
            for (index, chat) in chats.enumerated() where chat.sent > 0 {
                try writeChat.bind(index + 1, at: 4).bind(chat.lastSeq, at: 1).bind(began + first + count, at: 2).bind(
                    chat.lastSeq, at: 3
                ).run()
                // The parameters are in the order in which the statement first names them.
                try member.bind(index + 1, at: 1).bind(bytes: texts.senderID, at: 2).bind(0, at: 3).bind(
                    chat.sent, at: 4
                )
                .bind(chat.sent, at: 5).bind(chat.sent, at: 6).bind(chat.lastSeq, at: 7).bind(chat.lastSeq, at: 8)
                .run()
            }
            try commit.run()
        }
    }
}

/// Plain SQLite without Parlor's code.
private final class PlainSQLite {
    private let handle: OpaquePointer

    init(_ path: String) throws(ClientError) {
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let opened else {
            sqlite3_close_v2(opened)
            throw ClientError("SQLite cannot open \(path)")
        }
        handle = opened
    }

    deinit { sqlite3_close_v2(handle) }

    func run(_ sql: String) throws(ClientError) {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw ClientError("SQLite refuses \(sql)") }
    }

    func prepare(_ sql: String) throws(ClientError) -> Statement {
        var prepared: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard code == SQLITE_OK, let prepared else { throw ClientError("SQLite refuses \(sql)") }
        return Statement(prepared, of: self)
    }

    final class Statement {
        private let handle: OpaquePointer
        /// The connection, closed after its statements.
        private let connection: PlainSQLite

        init(_ handle: OpaquePointer, of connection: PlainSQLite) {
            self.handle = handle
            self.connection = connection
        }

        deinit { sqlite3_finalize(handle) }

        /// - Parameter index: SQLite's number of the parameter: the position of its first
        ///   occurrence.
        func bind(_ text: FixedText, at index: Int32) -> Statement {
            sqlite3_bind_text(handle, index, text.start, Int32(text.count), nil)
            return self
        }

        func bind(bytes: FixedText, at index: Int32) -> Statement {
            sqlite3_bind_blob(handle, index, bytes.start, Int32(bytes.count), nil)
            return self
        }

        func bind(_ number: Int, at index: Int32) -> Statement {
            sqlite3_bind_int64(handle, index, Int64(number))
            return self
        }

        /// - Returns: a number of the first row; 0 if there is none.
        @discardableResult
        func run(column: Int32 = 0) throws(ClientError) -> Int {
            defer { sqlite3_reset(handle) }
            let code = sqlite3_step(handle)
            guard code == SQLITE_ROW || code == SQLITE_DONE else {
                throw ClientError("SQLite fails: \(String(cString: sqlite3_errmsg(sqlite3_db_handle(handle))))")
            }
            return code == SQLITE_ROW ? Int(sqlite3_column_int64(handle, column)) : 0
        }
    }
}
