import CParlorPostgres

/// A connection to a PostgreSQL server, with its prepared statements. After a loss it reconnects with the
/// next transaction.
///
/// `@unchecked Sendable`: its creator passes it to one thread, only that thread uses it from then on, and it
/// is closed when that thread has ended.
final class PostgresConnection: TransactionalConnection, @unchecked Sendable {
    enum Role {
        case writer, reader
    }

    /// The limit of cached statements. A service has a few dozen. More means that SQL is built from values; even that
    /// must not use all memory.
    private static let maxStatements = 256

    private struct StatementKey: Hashable {
        let sql: String
        let types: [Oid]
    }

    private let role: Role
    private let session: PostgresSession
    private var handle: OpaquePointer?
    private var statements: [StatementKey: String] = [:]
    private var prepared = 0
    /// The SQL texts that the server has accepted since this object was created, also before a reconnect.
    private var proven: Set<String> = []
    /// The failure that ended the transaction with everything in it, or nil.
    private var lost: StorageError?
    /// The last failure of a statement. Later statements of the transaction are refused.
    private var failure: StorageError?
    private(set) var mayRunAgain = false
    private var isCommitting = false
    private var hasSavepoint = false
    let record: TransactionRecord

    init(_ session: PostgresSession, role: Role) {
        self.session = session
        self.role = role
        record = TransactionRecord(isWriting: role == .writer)
    }

    deinit { close() }

    func close() {
        PQfinish(handle)
        handle = nil
        statements = [:]
    }

    // MARK: Connection

    @discardableResult
    func execute(_ sql: String, binding parameters: [SQLValue]) throws(StorageError) -> Int {
        try run(sql, parameters).changes
    }

    func forEachRow(_ sql: String, binding parameters: [SQLValue], _ body: (Row) throws -> Bool) throws {
        let result = try run(sql, parameters)
        for row in 0..<result.rows {
            guard try body(Row(source: PostgresRow(result: result, row: Int32(row)))) else { return }
        }
    }

    // MARK: Transactions

    var hasLostTransaction: Bool { lost != nil || PQtransactionStatus(handle) != PQTRANS_INTRANS }

    func begin(_ durability: Durability) throws(StorageError) {
        forget()
        mayRunAgain = false
        isCommitting = false
        if PQstatus(handle) != CONNECTION_OK {
            close()
            handle = try session.connect()
        }
        if statements.count >= Self.maxStatements {
            statements = [:]
            try command("DEALLOCATE ALL")
        }
        switch role {
        case .reader: try command("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        // Take the lock first, so that each statement sees everything committed before the lock was granted.
        // With several programs on one schema, positions in the event log then follow the order of the
        // commits.
        case .writer:
            let relaxing = durability == .relaxed ? "SET LOCAL synchronous_commit = off; " : ""
            try command("BEGIN ISOLATION LEVEL READ COMMITTED; \(relaxing)\(session.lock)")
        }
    }

    func perform(
        isolated: Bool, _ body: (any Connection) throws -> Void
    ) throws(StorageError) -> Result<Void, any Error> {
        let mark = record.mark
        failure = nil
        if isolated {
            // One round trip for the end of the previous write and the beginning of this one; the last one
            // ends with the COMMIT.
            try command(hasSavepoint ? "RELEASE write; SAVEPOINT write" : "SAVEPOINT write")
            hasSavepoint = true
        }
        var result = self.result(of: body, isolated: isolated)
        if let lost { throw lost }
        // A body that continued after a failed statement has had no effect since: all later statements were refused.
        if let failure, case .success = result { result = .failure(failure) }
        if isolated, case .failure = result {
            try command("ROLLBACK TO write")
            record.goBack(to: mark)
        }
        return result
    }

    /// - Throws: if the connection is lost, in which case it is unknown whether the server has committed.
    func commit() throws(StorageError) -> (hooks: [() -> Void], events: [any CommitEvent]) {
        isCommitting = true
        let result = try command("COMMIT")
        guard result.command == "COMMIT" else { throw .io("the transaction was rolled back") }
        defer { forget() }
        return (record.hooks, record.events)
    }

    func rollBack() {
        forget()
        guard PQstatus(handle) == CONNECTION_OK, PQtransactionStatus(handle) != PQTRANS_IDLE else { return }
        // A connection that cannot roll back is closed. The server then ends its transaction.
        if PostgresResult(PQexec(handle, "ROLLBACK")).isFailure { close() }
    }

    private func forget() {
        lost = nil
        failure = nil
        hasSavepoint = false
        record.clear()
    }

    func liftTimeLimit() throws(StorageError) { try command("SET LOCAL statement_timeout = 0") }

    func checkpoint() -> Int { 0 }

    func checkpointIfDue(copied: Int) -> CheckpointDecision { .notDue }

    func run(script: String) throws(StorageError) {
        // INTEGER has 64 bits in our SQL, and 32 in PostgreSQL's.
        try command(script.replacing("INTEGER", with: "BIGINT"))
    }

    // MARK: Statements

    @discardableResult
    private func command(_ sql: String) throws(StorageError) -> PostgresResult {
        try checked(PostgresResult(PQexec(handle, sql)), sql)
    }

    private func run(_ sql: String, _ values: [SQLValue]) throws(StorageError) -> PostgresResult {
        if let lost { throw lost }
        if let failure { throw failure }
        let parameters = try PostgresParameters(values)
        let statement = try prepare(sql, types: parameters.types)
        let result = try checked(PostgresResult(parameters.execute(statement, on: handle)), sql)
        if result.changes > 0 { record.hasChanges = true }
        return result
    }

    private func prepare(_ sql: String, types: [Oid]) throws(StorageError) -> String {
        let key = StatementKey(sql: sql, types: types)
        if let name = statements[key] { return name }
        prepared += 1
        let name = "s\(prepared)"
        let result = PostgresResult(PQprepare(handle, name, sql, Int32(types.count), types))
        // Class 42 is bad syntax or a wrong type; 42501 is a right that the role lacks, and the others are names that
        // somebody removed. If the text was accepted before, the schema has changed since.
        let isMistake = result.sqlState.hasPrefix("42") && !["42501", "42P01", "42703"].contains(result.sqlState)
        if isMistake, !proven.contains(sql) { fatalError("\(result.error) in: \(sql)") }
        try checked(result, sql)
        statements[key] = name
        if proven.count < Self.maxStatements { proven.insert(sql) }
        return name
    }

    @discardableResult
    private func checked(_ result: PostgresResult, _ sql: String) throws(StorageError) -> PostgresResult {
        guard result.isFailure else { return result }
        let (state, error) = (result.sqlState, result.error)
        precondition(role == .writer || state != "25006", "a read must not write: \(sql)")
        failure = error
        switch state {
        // Another program has migrated the schema, or the statements were dropped: they are prepared again.
        case "0A000", "26000":
            close()
            lost = error
            mayRunAgain = true
        case _ where PQstatus(handle) != CONNECTION_OK:
            lost = error
            // The outcome of a COMMIT without an answer is unknown.
            mayRunAgain = !isCommitting
        // A serialisation failure or a deadlock ends the whole transaction.
        case _ where state.hasPrefix("40"):
            lost = error
            mayRunAgain = true
        default: break
        }
        throw error
    }
}
