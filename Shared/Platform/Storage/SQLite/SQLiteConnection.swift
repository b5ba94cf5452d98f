import CParlorSQLite

/// A connection to an SQLite file, with its prepared statements.
///
/// `@unchecked Sendable`: its creator passes it to one thread, only that thread uses it from then on, and it
/// is closed when that thread has ended.
final class SQLiteConnection: TransactionalConnection, @unchecked Sendable {
    enum Role {
        case writer, reader
    }

    /// The limit of cached statements. A service has a few dozen. More means that SQL is built from values; even that
    /// must not use all memory.
    private static let maxStatements = 256

    let handle: OpaquePointer
    let role: Role
    /// The file, which errors name.
    let path: String
    private var statements: [String: SQLiteStatement] = [:]
    /// The failure after which SQLite has rolled back the transaction by itself, as it may on a full disk. Without
    /// this, later statements would commit separately.
    private var lost: StorageError?
    var hasLostTransaction: Bool { lost != nil }
    /// False: SQLite waits for locks itself, and a full disk stays full.
    var mayRunAgain: Bool { false }
    private var isInTransaction = false
    private var isClosed = false
    var checkpoints = CheckpointPolicy()
    /// The durability of commits; nil for a temporary file.
    var durability: Durability?
    /// The record of this connection's commits, if it keeps one.
    var acknowledged: AcknowledgedCommits?
    /// The rows that the connection had changed when the transaction began.
    private var changesAtBegin: Int64 = 0
    let record: TransactionRecord

    /// Disables memory statistics, once in a process. If SQLite is in use already, it refuses this, and is only a
    /// little slower.
    private static let disableMemoryStatistics: Void = { _ = sqlite3_disable_memory_statistics() }()

    /// - Parameter isReadOnly: true if no file is written, created or removed, also when the connection closes.
    init(_ path: String, role: Role, isReadOnly: Bool = false) throws(StorageError) {
        Self.disableMemoryStatistics
        var opened: OpaquePointer?
        let access = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        let code = sqlite3_open_v2(path, &opened, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
        guard code == SQLITE_OK, let opened else {
            let message = opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
            sqlite3_close_v2(opened)
            throw StorageError(sqlite: code, message: message, file: path)
        }
        if isReadOnly { _ = sqlite3_keep_log_on_close(opened) }
        handle = opened
        self.role = role
        self.path = path
        record = TransactionRecord(isWriting: role == .writer)
        defineUnhex()
    }

    deinit { close() }

    /// Closes the connection. The last connection to the file, of any process, copies the write-ahead log into the
    /// database and removes the log.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        statements.removeAll()
        sqlite3_close_v2(handle)
        acknowledged?.close()
    }

    // MARK: Connection

    @discardableResult
    func execute(_ sql: String, binding parameters: [SQLValue]) throws(StorageError) -> Int {
        let before = sqlite3_total_changes64(handle)
        try withStatement(sql, parameters) { statement throws(StorageError) in
            while try step(statement) {}
        }
        // Not `sqlite3_changes`, which keeps the number of the last statement that was not a SELECT. Changes that
        // triggers and foreign keys make count too; services have none that change rows.
        let changes = Int(sqlite3_total_changes64(handle) - before)
        if changes > 0 { record.hasChanges = true }
        return changes
    }

    func forEachRow(_ sql: String, binding parameters: [SQLValue], _ body: (Row) throws -> Bool) throws {
        let result: Result<Void, any Error> = try withStatement(sql, parameters) { statement throws(StorageError) in
            if !statement.isReadOnly { record.hasChanges = true }
            let row = Row(source: SQLiteRow(statement: statement.handle))
            var isWanted = true
            // A writing statement with RETURNING does all its work in the first step, but ends only with the last
            // one. Another step would perform it again.
            while isWanted || !statement.isReadOnly, try step(statement) {
                guard isWanted else { continue }
                do {
                    isWanted = try body(row)
                } catch {
                    return .failure(error)
                }
            }
            return .success(())
        }
        try result.get()
    }

    // MARK: Transactions

    func begin(_ durability: Durability) throws(StorageError) {
        lost = nil
        record.clear()
        if let current = self.durability, current != durability { try setDurability(durability) }
        try execute(role == .writer ? "BEGIN IMMEDIATE" : "BEGIN", binding: [])
        isInTransaction = true
        changesAtBegin = sqlite3_total_changes64(handle)
    }

    func perform(
        isolated: Bool, _ body: (any Connection) throws -> Void
    ) throws(StorageError) -> Result<Void, any Error> {
        let mark = record.mark
        if isolated { try execute("SAVEPOINT write", binding: []) }
        let result = self.result(of: body, isolated: isolated)
        if let lost { throw lost }
        guard isolated else { return result }
        if case .failure = result {
            try execute("ROLLBACK TO write", binding: [])
            record.goBack(to: mark)
        }
        try execute("RELEASE write", binding: [])
        return result
    }

    func commit() throws(StorageError) -> (hooks: [() -> Void], events: [any CommitEvent]) {
        let isRecorded =
            acknowledged != nil && durability == .synced && sqlite3_total_changes64(handle) != changesAtBegin
        let entry = record.events.last?.seq
        let others = isRecorded && entry == nil ? try DatabaseIdentity.countCommit(on: self) : nil
        try execute("COMMIT", binding: [])
        isInTransaction = false
        if let others { acknowledged?.note(others, .others) }
        if isRecorded, let entry { acknowledged?.note(entry, .entry) }
        defer { record.clear() }
        return (record.hooks, record.events)
    }

    func rollBack() {
        isInTransaction = false
        lost = nil
        record.clear()
        guard sqlite3_get_autocommit(handle) == 0 else { return }
        // It cannot fail in a way that leaves the transaction open, and no caller could handle a failure. It is a
        // prepared statement, because every snapshot ends with one.
        if (try? execute("ROLLBACK", binding: [])) == nil { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
    }

    func run(script: String) throws(StorageError) {
        let code = sqlite3_exec(handle, script, nil, nil, nil)
        guard code == SQLITE_OK else { throw .compiling(script, code, on: handle, of: path) }
    }

    /// Copies all pages, as of one moment, over the other database.
    ///
    /// It copies in one step, which is one read transaction: with pauses, each commit of another process
    /// would restart it.
    func copyAll(to other: SQLiteConnection) throws(StorageError) {
        guard let backup = sqlite3_backup_init(other.handle, "main", handle, "main") else { throw other.failure() }
        let code = sqlite3_backup_step(backup, -1)
        let ended = sqlite3_backup_finish(backup)
        guard code != SQLITE_DONE || ended != SQLITE_OK else { return }
        // The message is in the target, whichever side failed.
        throw StorageError(
            sqlite: ended == SQLITE_OK ? code : ended, message: String(cString: sqlite3_errmsg(other.handle)),
            file: other.path)
    }

    private func failure() -> StorageError {
        StorageError(
            sqlite: sqlite3_extended_errcode(handle), message: String(cString: sqlite3_errmsg(handle)), file: path)
    }

    // MARK: Statements

    private func withStatement<T>(
        _ sql: String, _ parameters: [SQLValue], _ body: (SQLiteStatement) throws(StorageError) -> T
    ) throws(StorageError) -> T {
        if let lost { throw lost }
        let statement = try prepared(sql)
        precondition(role == .writer || statement.isReadOnly, "a read must not write: \(sql)")
        statement.isInUse = true
        defer {
            statement.reset()
            statement.isInUse = false
        }
        try statement.bind(parameters)
        return try body(statement)
    }

    private func prepared(_ sql: String) throws(StorageError) -> SQLiteStatement {
        if let statement = statements[sql] {
            // Inside a loop over its own rows a statement is needed twice.
            return statement.isInUse ? try SQLiteStatement(sql, on: handle, of: path) : statement
        }
        if statements.count >= Self.maxStatements { statements = statements.filter(\.value.isInUse) }
        let statement = try SQLiteStatement(sql, on: handle, of: path)
        statements[sql] = statement
        return statement
    }

    /// Steps a statement. Returns true if it is at a row.
    private func step(_ statement: SQLiteStatement) throws(StorageError) -> Bool {
        let code = sqlite3_step(statement.handle)
        if code == SQLITE_ROW { return true }
        if code == SQLITE_DONE { return false }
        let error = StorageError(sqlite: code, message: String(cString: sqlite3_errmsg(handle)), file: path)
        precondition(code & 0xFF != SQLITE_MISUSE, "a statement was misused")
        if isInTransaction, sqlite3_get_autocommit(handle) != 0 { lost = error }
        // A statement of many rows may have changed some of them, and SQLite does not undo that for every
        // kind of failure.
        record.hasChanges = true
        throw error
    }
}
