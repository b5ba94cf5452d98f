import CParlorPostgres

/// The sessions of a connection, one after the other, to which statements are sent before earlier ones are answered
/// (libpq's pipeline mode).
///
/// Statements are prepared at their first use, in the same flush. They run in the order in which they are sent. If one
/// fails, the server skips the others of its flush. libpq reads answers while it waits to write, so the server and this
/// side never wait for each other.
final class PostgresPipeline {
    /// The first statement of a flush that failed.
    struct Failure {
        let sql: String
        let result: PostgresResult
        /// True if its text was refused, and was never accepted before.
        let isOfNewText: Bool
    }

    /// What has been sent and is not answered.
    private enum Sent {
        case text(StatementKey)
        case statement(String, then: ((PostgresResult) -> Void)?)
        case end
    }

    private struct StatementKey: Hashable {
        let sql: String
        let types: [Oid]
    }

    /// The limit of prepared statements. A service has a few dozen. More means that SQL is built from values; even that
    /// must not use all memory.
    private static let maxStatements = 256

    /// nil before the first session and after `close`. libpq takes that for a broken connection.
    private var handle: OpaquePointer?
    private var statements: [StatementKey: String] = [:]
    private var prepared = 0
    private var sent: [Sent] = []
    /// The SQL texts that the server has accepted, also in earlier sessions.
    private var proven: Set<String> = []

    deinit { close() }

    /// Begins with another session, and closes the one before.
    func use(_ handle: OpaquePointer) {
        close()
        self.handle = handle
        PQenterPipelineMode(handle)
    }

    func close() {
        PQfinish(handle)
        handle = nil
        statements = [:]
        sent = []
    }

    var isBroken: Bool { PQstatus(handle) != CONNECTION_OK }
    /// True if everything sent was answered.
    var isIdle: Bool { sent.isEmpty }

    /// Sends a statement.
    ///
    /// - Parameter body: called with its result by the `flush` that reads it; never if it fails or is skipped.
    func send(
        _ sql: String, _ parameters: PostgresParameters = PostgresParameters(),
        then body: ((PostgresResult) -> Void)? = nil
    ) {
        if !parameters.send(prepare(sql, types: parameters.types), on: handle) { fail() }
        sent.append(.statement(sql, then: body))
    }

    private func prepare(_ sql: String, types: [Oid]) -> String {
        let key = StatementKey(sql: sql, types: types)
        if let name = statements[key] { return name }
        prepared += 1
        let name = "s\(prepared)"
        if PQsendPrepare(handle, name, sql, Int32(types.count), types) == 0 { fail() }
        sent.append(.text(key))
        statements[key] = name
        return name
    }

    /// Ends the session, because libpq has not queued a statement: later answers would be taken for its. All that was sent
    /// has failed then, for the next flush.
    private func fail() {
        PQfinish(handle)
        (handle, statements) = (nil, [:])
    }

    /// Ends a flush without waiting for its answers. The next flush reads them first.
    func end() {
        if PQpipelineSync(handle) == 0 { fail() }
        sent.append(.end)
    }

    /// Waits for the answers to everything sent: one round trip.
    ///
    /// - Returns: the first failure. If the connection is broken, later statements may have run all the same.
    func flush() -> Failure? {
        end()
        defer { sent.removeAll(keepingCapacity: true) }
        var failure: Failure?
        for sent in sent {
            let result = PostgresResult(PQgetResult(handle))
            switch sent {
            case .text(let key):
                if result.isFailure {
                    statements[key] = nil
                    let isNew = !proven.contains(key.sql)
                    failure = failure ?? Failure(sql: key.sql, result: result, isOfNewText: isNew)
                } else if proven.count < Self.maxStatements {
                    proven.insert(key.sql)
                }
            case .statement(let sql, let body):
                if result.isFailure {
                    failure = failure ?? Failure(sql: sql, result: result, isOfNewText: false)
                } else {
                    body?(result)
                }
            case .end: continue
            }
            // The rest has no answers. What was answered before the connection broke counts.
            if result.isFailure, isBroken { return failure }
            // The end of this statement's results.
            PQclear(PQgetResult(handle))
        }
        return failure
    }

    /// Runs a text, which may have several statements, once everything sent was answered.
    ///
    /// - Returns: the failure of what was sent before, or of the text.
    func run(script: String) -> Failure? {
        if !isIdle, let failure = flush() { return failure }
        PQexitPipelineMode(handle)
        defer { PQenterPipelineMode(handle) }
        let result = PostgresResult(PQexec(handle, script))
        return result.isFailure ? Failure(sql: script, result: result, isOfNewText: false) : nil
    }

    /// Removes the prepared statements if there are too many.
    func tidy() -> Failure? {
        guard statements.count >= Self.maxStatements else { return nil }
        statements = [:]
        return run(script: "DEALLOCATE ALL")
    }
}
