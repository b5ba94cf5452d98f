import CParlorPostgres
import ParlorEventLog
import ParlorMessaging
import ParlorReactor
import ParlorStorage
import TestClients

/// PostgreSQL's own cost of a send in the other rows: what `SQLiteAlone` is for SQLite. Messaging's statements go through
/// plain libpq in two flushes, as Storage sends them: what the sends have to know, and the rest with the COMMIT.
struct PostgresAlone {
    let address: String
    let seconds: Int

    private static let batches = [1, 16, 128, 1024]
    private static let rooms = 32
    private static let schema = "bench"

    func measure() async throws -> [Row] {
        guard PostgresURL.missingLibrary == nil, let url = PostgresURL(address) else {
            throw ClientError("there is no libpq, or \(address) is not its address")
        }
        await (try PostgresDatabase(url, schema: Self.schema, migrations: MessagingService.migrations)).close()
        return try Self.batches.map(measure)
    }

    private func measure(batch: Int) throws -> Row {
        let statements = try Statements(try PlainPostgres(address, schema: Self.schema))
        let start = LoopInstant.now()
        let used = ProcessorTime.usedByThisThread()
        var sent = 0
        repeat {
            try statements.send(batch)
            sent += batch
        } while LoopInstant.now() - start < .seconds(seconds)
        let processor = (ProcessorTime.usedByThisThread() - used) / Double(sent)
        let elapsed = (LoopInstant.now() - start) / .seconds(1)
        return Row(
            name: "PostgreSQL alone: the statements of a send, \(batch) in a commit",
            figures: [
                Figure("sends", Double(sent) / elapsed, .perSecond),
                Figure("processor time of a send, without the server's", processor * 1000, .milliseconds),
            ], faults: [])
    }

    /// Messaging's own statements, with parameters of equal length.
    private final class Statements {
        private let connection: PlainPostgres
        private let texts = SendTexts(rooms: PostgresAlone.rooms)
        private var sent = 0
        /// What no earlier run has begun with.
        private let began = Int.random(in: 0..<1 << 40)

        init(_ connection: PlainPostgres) throws(ClientError) {
            self.connection = connection
            connection.send(SendsStore.findLastNumber)
            guard try connection.flush() == [0] else { return }
            for (index, room) in texts.rooms.enumerated() {
                connection.send(SendsStore.insertChat, [Self.number(index + 1), room])
            }
            _ = try connection.flush()
        }

        /// Sends messages in one commit.
        func send(_ count: Int) throws(ClientError) {
            let numbers = sent..<sent + count
            sent += count
            let used = Set(numbers.map { $0 * 7919 % texts.rooms.count }).sorted()
            connection.send("BEGIN ISOLATION LEVEL READ COMMITTED")
            connection.send("SELECT pg_advisory_xact_lock(1)")
            connection.send(TransactionRecord.findHead, [Self.number(0), Self.number(LogKeys(0).end)])
            for room in used { connection.send(SendsStore.findChat, [texts.rooms[room]], column: 1) }
            for number in numbers {
                let attempt = prepare(number).attempt
                connection.send(SendsStore.findAttempt, [attempt, texts.senderID, texts.tempID])
            }
            connection.send(SendsStore.findLastNumber)
            let found = try connection.flush()
            var seq = found[2]
            var lastSeqs = Dictionary(uniqueKeysWithValues: zip(used, found[3..<3 + used.count]))
            for number in numbers {
                seq += 1
                let (index, attempt) = prepare(number)
                for id in [texts.messageID, texts.requestID] { id.end(with: seq) }
                lastSeqs[index, default: 0] += 1
                let (at, lastSeq) = (Self.number(seq), Self.number(lastSeqs[index] ?? 0))
                connection.send(
                    SendsStore.insertMessage,
                    [
                        Self.number(index + 1), lastSeq, texts.messageID, texts.senderID, texts.text, at, texts.tempID,
                        attempt,
                    ])
                connection.send(
                    EventLog.insertEntry,
                    [at, at, texts.rooms[index], texts.participants, texts.emissions, texts.requestID])
            }
            for index in used {
                let (room, lastSeq) = (Self.number(index + 1), Self.number(lastSeqs[index] ?? 0))
                let one = Self.number(1)
                connection.send(SendsStore.writeChat, [room, lastSeq, Self.number(seq), lastSeq])
                connection.send(
                    SendsStore.changeMember,
                    [room, texts.senderID, one, one, lastSeq, lastSeq, Self.number(0), one])
            }
            connection.send("COMMIT")
            _ = try connection.flush()
        }

        /// Sets the `tempId` of a send, in no order, like clients' own.
        ///
        /// - Returns: the index of its room, and the key of its attempt.
        private func prepare(_ number: Int) -> (index: Int, attempt: FixedText) {
            let attempt = ((began &+ number) &* 6_364_136_223_846_793_005) & Int.max
            texts.tempID.end(with: attempt)
            return (number * 7919 % texts.rooms.count, Self.number(attempt))
        }

        private static func number(_ value: Int) -> FixedText { FixedText(padded: 19, value) }
    }
}

/// A pipeline of libpq without Parlor's code.
private final class PlainPostgres {
    private let handle: OpaquePointer?
    private var names: [String: String] = [:]
    /// For each result that is due the column that is read; nil for one that is not of a statement.
    private var due: [Int32?] = []

    init(_ address: String, schema: String) throws(ClientError) {
        handle = "dbname".withCString { name in
            address.withCString { PQconnectdbParams([name, nil], [$0, nil], 1) }
        }
        PQclear(PQexec(handle, "SET search_path = \(schema), pg_catalog; SET client_min_messages = error"))
        guard PQstatus(handle) == CONNECTION_OK, PQenterPipelineMode(handle) == 1 else {
            throw ClientError("there is no connection to \(address)")
        }
    }

    deinit { PQfinish(handle) }

    func send(_ sql: String, _ parameters: [FixedText] = [], column: Int32 = 0) {
        if names[sql] == nil {
            names[sql] = "s\(names.count)"
            _ = PQsendPrepare(handle, names[sql], sql, 0, nil)
            due.append(nil)
        }
        _ = PQsendQueryPrepared(
            handle, names[sql], Int32(parameters.count), parameters.map { UnsafePointer($0.start) }, nil, nil, 0)
        due.append(column)
    }

    /// Waits for the results.
    ///
    /// - Returns: for each statement the number in the column of its first row; 0 if there is none.
    func flush() throws(ClientError) -> [Int] {
        _ = PQpipelineSync(handle)
        var numbers: [Int] = []
        for column in due {
            let result = PQgetResult(handle)
            defer { PQclear(result) }
            guard [PGRES_COMMAND_OK, PGRES_TUPLES_OK].contains(PQresultStatus(result)) else {
                throw ClientError("PostgreSQL fails: \(String(cString: PQresultErrorMessage(result)))")
            }
            if let column {
                numbers.append(PQntuples(result) > 0 ? Int(String(cString: PQgetvalue(result, 0, column))) ?? 0 : 0)
            }
            PQclear(PQgetResult(handle))
        }
        due.removeAll(keepingCapacity: true)
        PQclear(PQgetResult(handle))
        return numbers
    }
}
