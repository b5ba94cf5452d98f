/// A connection to a PostgreSQL server. After a loss it reconnects with the next transaction.
///
/// Statements are sent when they are called, and answered when a result is needed: at a query or an `execute`, after the
/// loads of a batch, and at the commit. So a transaction takes one round trip for each of these and no other. The
/// rollback of a read is not waited for.
///
/// `@unchecked Sendable`: its creator passes it to one thread, only that thread uses it from then on, and it
/// is closed when that thread has ended.
final class PostgresConnection: TransactionalConnection, @unchecked Sendable {
    enum Role {
        case writer, reader
    }

    private static let commit = "COMMIT"

    private let role: Role
    private let session: PostgresSession
    private let pipeline = PostgresPipeline()
    /// The failure that ended the transaction with everything in it, or nil.
    private var lost: StorageError?
    /// The last failure of a statement. Later statements of the transaction are refused.
    private var failure: StorageError?
    private(set) var mayRunAgain = false
    private var isInTransaction = false
    private var isCommitting = false
    private var hasSavepoint = false
    /// True while each change is waited for, so that its failure is that of its write.
    private var isIsolated = false
    let record: TransactionRecord

    init(_ session: PostgresSession, role: Role) {
        self.session = session
        self.role = role
        record = TransactionRecord(isWriting: role == .writer)
    }

    /// Has the connection write to one of several logs from now on.
    ///
    /// - Parameter place: the place of the log among all.
    func narrow(to log: Int, at place: Int) {
        session.narrow(to: log, at: place)
        record.keys = LogKeys(log)
    }

    func close() { pipeline.close() }

    // MARK: Connection

    @discardableResult
    func execute(_ sql: String, binding parameters: [SQLValue]) throws(StorageError) -> Int {
        try run(sql, parameters).changes
    }

    func executeLater(_ sql: String, binding parameters: [SQLValue]) throws(StorageError) {
        record.hasChanges = true
        try send(sql, parameters)
        if isIsolated { try flush() }
    }

    func forEachRow(_ sql: String, binding parameters: [SQLValue], _ body: (Row) throws -> Bool) throws {
        let result = try run(sql, parameters)
        for row in 0..<result.rows {
            guard try body(Row(source: PostgresRow(result: result, row: Int32(row)))) else { return }
        }
    }

    func queryLater(
        _ sql: String, binding parameters: [SQLValue], _ body: @escaping (Row) -> Void
    ) throws(StorageError) {
        try send(sql, parameters) { result in
            for row in 0..<result.rows { body(Row(source: PostgresRow(result: result, row: Int32(row)))) }
        }
    }

    // MARK: Transactions

    var hasLostTransaction: Bool { lost != nil || failure != nil }

    func begin(_ durability: Durability) throws(StorageError) {
        forget()
        mayRunAgain = false
        isCommitting = false
        if pipeline.isBroken { pipeline.use(try session.connect()) }
        if let failed = pipeline.tidy() { throw noted(failed) }
        isInTransaction = true
        switch role {
        case .reader: try send("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        // Take the lock first, so that each statement sees everything committed before the lock was granted.
        // With several programs on one schema, positions in an event log then follow the order of the commits to it.
        case .writer:
            try send("BEGIN ISOLATION LEVEL READ COMMITTED")
            if durability == .relaxed { try send("SET LOCAL synchronous_commit = off") }
            try send(session.lock)
        }
    }

    func perform(
        isolated: Bool, _ body: (any Connection) throws -> Void
    ) throws(StorageError) -> Result<Void, any Error> {
        let mark = record.mark
        failure = nil
        isIsolated = isolated
        if isolated {
            if hasSavepoint { try send("RELEASE write") }
            try send("SAVEPOINT write")
            hasSavepoint = true
        }
        var result = self.result(of: body, isolated: isolated)
        if let lost { throw lost }
        // A body that continued after a failed statement has had no effect since: all later statements were refused.
        if let failure, case .success = result { result = .failure(failure) }
        if isolated, case .failure = result {
            failure = nil
            try send("ROLLBACK TO write")
            record.goBack(to: mark)
        }
        return result
    }

    /// - Throws: if the connection is lost, in which case it is unknown whether the server has committed. If a
    ///   statement has failed that was sent with the COMMIT, the record has its failure.
    func commit() throws(StorageError) -> (hooks: [() -> Void], events: [any CommitEvent]) {
        isCommitting = true
        do throws(StorageError) {
            guard try run(Self.commit, []).command == Self.commit else { throw .io("the transaction was rolled back") }
        } catch {
            if lost == nil { record.failure = error }
            throw error
        }
        isInTransaction = false
        defer { forget() }
        return (record.hooks, record.events)
    }

    func rollBack() {
        forget()
        guard isInTransaction else { return }
        isInTransaction = false
        // What failed was to be undone.
        if !pipeline.isIdle { _ = pipeline.flush() }
        guard !pipeline.isBroken else { return }
        pipeline.send("ROLLBACK")
        switch role {
        // Nobody waits: if it fails, so does the next transaction, which then runs again.
        case .reader: pipeline.end()
        // A connection that cannot roll back is closed. The server then ends its transaction.
        case .writer: if pipeline.flush() != nil { close() }
        }
    }

    private func forget() {
        lost = nil
        failure = nil
        hasSavepoint = false
        isIsolated = false
        record.clear()
    }

    func liftTimeLimit() throws(StorageError) { try send("SET LOCAL statement_timeout = 0") }

    func checkpoint() -> Int { 0 }

    func checkpointIfDue(copied: Int) -> CheckpointDecision { .notDue }

    func run(script: String) throws(StorageError) {
        // INTEGER has 64 bits in our SQL, and 32 in PostgreSQL's.
        guard let failed = pipeline.run(script: script.replacing("INTEGER", with: "BIGINT")) else { return }
        throw noted(failed)
    }

    func usedBytes() throws(StorageError) -> Int {
        try number(
            """
            SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0)
            FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
            WHERE nspname = current_schema() AND relkind = 'r'
            """) ?? 0
    }

    var freeBytes: Int? { nil }

    // MARK: Statements

    private func run(_ sql: String, _ values: [SQLValue]) throws(StorageError) -> PostgresResult {
        var answer = PostgresResult(nil)
        try send(sql, values) { answer = $0 }
        try flush()
        if answer.changes > 0 { record.hasChanges = true }
        return answer
    }

    private func send(
        _ sql: String, _ values: [SQLValue] = [], then body: ((PostgresResult) -> Void)? = nil
    ) throws(StorageError) {
        if let lost { throw lost }
        if let failure { throw failure }
        pipeline.send(sql, try PostgresParameters(values), then: body)
    }

    func flush() throws(StorageError) {
        if let lost { throw lost }
        if let failure { throw failure }
        guard !pipeline.isIdle, let failed = pipeline.flush() else { return }
        throw noted(failed)
    }

    private func noted(_ failed: PostgresPipeline.Failure) -> StorageError {
        let (state, error) = (failed.result.sqlState, failed.result.error)
        precondition(role == .writer || state != "25006", "a read must not write: \(failed.sql)")
        // Class 42 is bad syntax or a wrong type; 42501 is a right that the role lacks, and the others are names that
        // somebody removed. If the text was accepted before, the schema has changed since.
        let isMistake = state.hasPrefix("42") && !["42501", "42P01", "42703"].contains(state)
        if failed.isOfNewText, isMistake { fatalError("\(error) in: \(failed.sql)") }
        failure = error
        switch state {
        // Another program has migrated the schema, or the statements were dropped: they are prepared again.
        case "0A000", "26000":
            close()
            lost = error
            mayRunAgain = true
        case _ where pipeline.isBroken:
            lost = error
            // The outcome of a COMMIT without an answer is unknown, unless the server says that it was ended before. A
            // pooler says class 08 when it has lost its server, whatever that has done.
            mayRunAgain = !isCommitting || (state == "57P01" && failed.sql != Self.commit)
        // A serialisation failure or a deadlock ends the whole transaction.
        case _ where state.hasPrefix("40"):
            lost = error
            mayRunAgain = true
        // Nobody's write has failed: the lock was not granted in time, or the server could not commit.
        case _ where failed.sql == session.lock || failed.sql == Self.commit: lost = error
        default: break
        }
        return error
    }
}
