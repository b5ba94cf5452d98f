import CParlorPostgres
import Glibc

/// Opens a service's connections to its schema. Each connection has its own session.
final class PostgresSession {
    /// The pauses between attempts of one connection. They double with each failure. Calls during a pause are refused
    /// at once.
    private static let pauses = (first: Duration.milliseconds(100), longest: Duration.seconds(2))
    /// The seconds to wait for a server that does not answer an attempt to connect.
    private static let connectTimeout = "5"
    /// The time after which a server that does not answer counts as lost. It is also the limit of a statement,
    /// including its wait for another program's lock.
    private static let answerTimeoutMilliseconds = "15000"

    private let url: PostgresURL
    let schema: String
    private let claim: PostgresDatabase.Claim?
    /// The logs that the schema has to have when a connection is made (`DatabaseIdentity.findLogs`); nil for any. While the
    /// connection lasts, no program changes them.
    var requiredLogs: Int?
    private let onOtherLogs: @Sendable () -> Void
    /// The place of the log to which the connections write.
    private var place = 0
    private let hasTimeLimit: Bool
    private let idleTimeoutMilliseconds: Int
    private var failure: (error: StorageError, pause: Duration, nextAttempt: ContinuousClock.Instant)?

    /// - Parameters:
    ///   - claim: the claim that each connection holds while it lasts; nil for none.
    ///   - logs: `requiredLogs`.
    ///   - hasTimeLimit: false for statements that an operator waits for, however long they take.
    init(
        _ url: PostgresURL, schema: String, claim: PostgresDatabase.Claim? = nil, requiring logs: Int? = nil,
        hasTimeLimit: Bool = true, configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) {
        precondition(schema.utf8.allSatisfy { ($0 | 0x20) > 0x60 || (0x30...0x39).contains($0) }, "a service's name")
        self.url = url
        self.schema = schema
        self.claim = claim
        requiredLogs = logs
        self.hasTimeLimit = hasTimeLimit
        idleTimeoutMilliseconds = configuration.idleTimeoutMilliseconds
        onOtherLogs = configuration.onOtherLogs
    }

    /// The statement that takes the schema's lock, which one program at a time holds until its transaction ends. Those that
    /// write to one of several logs share it, and each log has a lock of its own.
    private(set) lazy var lock = "SELECT pg_advisory_xact_lock(\(key(0)))"

    /// Has the connections write to one of several logs from now on, and claim that one.
    ///
    /// - Parameter place: the place of the log among all.
    func narrow(to log: Int, at place: Int) {
        self.place = place
        lock = "SELECT pg_advisory_xact_lock_shared(\(key(0))), pg_advisory_xact_lock(\(key(2, log)))"
    }

    /// Returns the SQL of the key of one of the schema's locks.
    private func key(_ kind: Int, _ number: Int = 0) -> String {
        "hashtextextended('parlor.\(schema)', \(kind + number << 8))"
    }

    /// The statements that keep all other programs from the schema, and let them in again. Those of versions without
    /// several logs have only the first lock.
    var closeSchema: [String] { [key(1), key(3)].map { "SELECT pg_try_advisory_lock(\($0))::int" } }
    var openSchema: [String] { [key(1), key(3)].map { "SELECT pg_advisory_unlock(\($0))::int" } }
    /// The statement that keeps other programs from changing the logs while the connection lasts.
    var keepLogs: String { "SELECT pg_try_advisory_lock_shared(\(key(3)))::int" }

    /// Connects. Blocks for at most `connectTimeout` for each address of the server, and for the lookup of
    /// its name.
    ///
    /// - Throws: the error of the attempt, such as `.io`. During the pause after a failed attempt, it throws the last
    ///   error at once.
    func connect() throws(StorageError) -> OpaquePointer {
        if let failure, ContinuousClock.now < failure.nextAttempt { throw failure.error }
        do {
            let handle = try attempt()
            failure = nil
            return handle
        } catch {
            let pause = min(failure.map { $0.pause * 2 } ?? Self.pauses.first, Self.pauses.longest)
            failure = (error, pause, .now + pause)
            throw error
        }
    }

    private func attempt() throws(StorageError) -> OpaquePointer {
        // Options before the URL are defaults that it may change; those after it are fixed.
        let options = [
            ("connect_timeout", Self.connectTimeout), ("tcp_user_timeout", Self.answerTimeoutMilliseconds),
            ("keepalives_idle", "5"), ("keepalives_interval", "5"), ("keepalives_count", "2"),
            ("application_name", "parlor-\(schema)"), ("dbname", url.text), ("client_encoding", "UTF8"),
        ]
        let handle = withCStrings(options.map(\.0)) { keywords in
            withCStrings(options.map(\.1)) { values in PQconnectdbParams(keywords, values, 1) }
        }
        guard let handle else { throw .io("out of memory") }
        guard PQstatus(handle) == CONNECTION_OK else {
            defer { PQfinish(handle) }
            throw .io("\(url): \(String(cString: PQerrorMessage(handle)).split(separator: "\n").last ?? "no answer")")
        }
        // Services find rows by an index and read them in its order. Without statistics, or for a room that is larger than
        // most, the planner would read whole tables or rooms. JIT would compile plans because of the price of what is off.
        let settings = """
            SET client_min_messages = error; SET search_path = "\(schema)", pg_catalog; SET synchronous_commit = on;
            SET statement_timeout = \(hasTimeLimit ? Self.answerTimeoutMilliseconds : "0");
            SET idle_in_transaction_session_timeout = \(idleTimeoutMilliseconds);
            SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
            SET jit = off; SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 2
            """
        do throws(StorageError) {
            let result = PostgresResult(PQexec(handle, settings))
            guard !result.isFailure else { throw result.error }
            guard PQparameterStatus(handle, "server_encoding").map({ String(cString: $0) }) == "UTF8" else {
                throw .rejected("\(url): the database's encoding has to be UTF8")
            }
            try hold(handle)
            try requireLogs(handle)
            return handle
        } catch {
            PQfinish(handle)
            throw error
        }
    }

    private func hold(_ handle: OpaquePointer) throws(StorageError) {
        guard let claim else { return }
        // A different key from that of `lock`, which is released with each transaction.
        let suffix = claim == .alone ? "" : "_shared"
        guard try number("SELECT pg_try_advisory_lock\(suffix)(\(key(1, place)))::int", handle) == 1 else {
            throw .io("\(url): \(schema) is in use by another Parlor")
        }
    }

    private func requireLogs(_ handle: OpaquePointer) throws(StorageError) {
        guard let requiredLogs else { return }
        guard try number(keepLogs, handle) == 1 else {
            throw .io("\(url): another program changes the number of the logs of \(schema)")
        }
        guard try number(DatabaseIdentity.findLogs, handle) == requiredLogs else {
            onOtherLogs()
            throw .io("\(url): another program has changed the number of the logs of \(schema)")
        }
    }

    private func number(_ statement: String, _ handle: OpaquePointer) throws(StorageError) -> Int? {
        let result = PostgresResult(PQexec(handle, statement))
        guard !result.isFailure else { throw result.error }
        return result.rows == 1 ? PostgresRow(result: result, row: 0).int(0) : nil
    }

    private func withCStrings<T>(_ texts: [String], _ body: ([UnsafePointer<CChar>?]) -> T) -> T {
        let copies = texts.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies.map { UnsafePointer($0) } + [nil])
    }
}
