import ParlorContracts
import ParlorJSON
import ParlorStorage
import ParlorWorkers

/// The log of changes in a service's own database, written in the transaction of the change.
///
/// `seq` numbers committed entries of a log without gaps: a write that is undone releases its numbers. Functions with
/// a connection parameter run in the caller's transaction; the others in one of their own.
public struct EventLog: Sendable {
    let database: any Database
    /// Its number among the logs of its service (`LogLayout`).
    public let log: Int

    public init(_ database: any Database, log: Int = 0) {
        self.database = database
        self.log = log
    }

    /// The statements that run for each entry and for each transaction. `parlor-bench` measures
    /// SQLite with them.
    package static let insertEntry = """
        INSERT INTO events (seq, at, room_id, participants, emissions, request_id)
        VALUES ($1, $2, $3, $4, $5, $6)
        """

    /// Appends an entry to the log of the transaction, and reports it (`Connection.report`): `LogPublisher` publishes it after the commit.
    ///
    /// Events to people who are not participants go into a second entry, without a room. A person who catches up gets
    /// the entries of their rooms, and would miss these events in the room's entry. Events with badges stay in the room's
    /// entry all the same, as badges belong to the room.
    ///
    /// - Parameters:
    ///   - fact: what happened, if another service needs to know.
    ///   - requestID: the request that caused the change; nil if none did.
    /// - Returns: the entry's `seq`; if there is a second entry, the `seq` of that one.
    /// - Throws: `EntryTooLong`, which undoes the write. So spread emissions that may grow, such as lists of ids, over
    ///   several entries.
    @discardableResult
    public static func append(
        at time: Timestamp, roomID: String, participants: [String], emissions: consuming [Emission],
        fact: Fact? = nil, requestID: String? = nil, on connection: any Connection
    ) throws -> Int {
        if !roomID.isEmpty, let split = emissions.split(by: participants) {
            try append(
                at: time, roomID: roomID, participants: participants, emissions: split.inRoom, fact: fact,
                requestID: requestID, on: connection)
            return try append(
                at: time, roomID: "", participants: [], emissions: split.missed, requestID: requestID,
                on: connection)
        }
        // The newest entry is never pruned, so the highest number in the table is the highest ever used.
        let entry = LogEntry(
            log: connection.log, seq: try connection.lastSeq() + 1, at: time, roomID: roomID,
            participants: participants,
            emissions: emissions, fact: fact, requestID: requestID)
        if entry.maxBytes > EntryTooLong.limit, case let bytes = entry.json.bytes.count, bytes > EntryTooLong.limit {
            throw EntryTooLong(bytes: bytes)
        }
        try connection.executeLater(
            insertEntry, entry.key, time.milliseconds, roomID, SQLValue.list(participants), entry.emissionsJSON,
            requestID)
        connection.report(entry)
        return entry.seq
    }

    /// Removes the emissions of an entry, because what they quote was deleted: nobody who catches up gets it. Does
    /// nothing if the entry was pruned.
    ///
    /// It reads the room's entries in the log.
    ///
    /// - Parameters:
    ///   - id: the id of what was deleted, in the emissions.
    ///   - isMeant: returns true for the fact of the entry.
    public static func removeEmissions(
        quoting id: String, roomID: String, on connection: any Connection, where isMeant: (Fact) -> Bool
    ) throws {
        let found = try connection.all(
            "SELECT \(columns) FROM events WHERE room_id = $1 AND emissions LIKE $2", roomID, "%\"id\":\"\(id)\"%",
            body: entry)
        guard let written = found.first(where: { $0.fact.map(isMeant) ?? false }) else { return }
        let rest = written.withoutEmissions
        try connection.executeLater(
            "UPDATE events SET emissions = $2, digest = $3 WHERE seq = $1", rest.key, rest.emissionsJSON, rest.digest)
    }

    // MARK: Reading

    /// Returns the `seq` of the newest entry of the transaction's log; 0 before the first.
    public static func head(on connection: any Connection) throws -> Int {
        try connection.lastSeq()
    }

    /// Returns the `seq` of the oldest entry that is still there; nil before the first.
    public func oldest(on connection: any Connection) throws -> Int? {
        try connection.first("SELECT min(seq) FROM events WHERE seq > $1 AND seq < $2", keys.start, keys.end) {
            $0.intOrNil(0).map(LogKeys.seq)
        } ?? nil
    }

    /// Returns the entry at a position; nil if it was pruned or never existed.
    public func entry(at seq: Int, on connection: any Connection) throws -> LogEntry? {
        try connection.first("SELECT \(Self.columns) FROM events WHERE seq = $1", keys.key(seq), body: Self.entry)
    }

    /// Returns the newest entry; nil before the first.
    public func newest(on connection: any Connection) throws -> LogEntry? {
        try connection.first(
            "SELECT \(Self.columns) FROM events WHERE seq > $1 AND seq < $2 ORDER BY seq DESC LIMIT 1", keys.start,
            keys.end,
            body: Self.entry)
    }

    /// Returns the newest entry, and the `seq` of the oldest that is still there; nil before the first. This is one
    /// statement, because each one costs a round trip to a database server, and a list of rooms asks every log.
    func bounds(on connection: any Connection) throws -> (newest: LogEntry, oldest: Int)? {
        try connection.first(
            """
            SELECT \(Self.columns), (SELECT min(seq) FROM events WHERE seq > $1 AND seq < $2) FROM events
            WHERE seq > $1 AND seq < $2 ORDER BY seq DESC LIMIT 1
            """, keys.start, keys.end
        ) { (Self.entry($0), LogKeys.seq(of: $0.int(7))) }
    }

    /// Returns the newest entry of each of these logs that has one. One statement, for the same reason.
    static func newest(of logs: [Int], on connection: any Connection) throws -> [LogEntry] {
        let parts = logs.indices.map { index in
            """
            SELECT * FROM (
                SELECT \(columns) FROM events WHERE seq > $\(2 * index + 1) AND seq < $\(2 * index + 2)
                ORDER BY seq DESC LIMIT 1) AS log\(index)
            """
        }
        var entries: [LogEntry] = []
        let bounds = logs.map(LogKeys.init).flatMap { [SQLValue.int($0.start), .int($0.end)] }
        try connection.forEachRow(parts.joined(separator: " UNION ALL "), binding: bounds) {
            entries.append(entry($0))
            return true
        }
        return entries
    }

    /// Returns the numbers of the logs before this one that have entries, in order.
    static func numbers(before log: Int, on connection: any Connection) throws -> [Int] {
        var numbers: [Int] = []
        var start = 0
        while let key = try connection.first(
            "SELECT min(seq) FROM events WHERE seq > $1 AND seq < $2", start, LogKeys(log).start,
            body: { $0.intOrNil(0) }) ?? nil
        {
            numbers.append(LogKeys.log(of: key))
            start = LogKeys(LogKeys.log(of: key)).end
        }
        return numbers
    }

    private var keys: LogKeys { LogKeys(log) }

    /// Returns entries after a position, in order: at most `limit` of them, with at most about `maxBytes` of
    /// emissions and participants. A first entry that is longer than `maxBytes` is returned alone.
    ///
    /// - Parameters:
    ///   - end: the last position of interest.
    ///   - roomIDs: the rooms of interest; nil for all. `""` stands for the entries without a room.
    ///   - userID: a person; of the entries without a room only those with an event to this person are returned. If the
    ///     id has unusual characters, a few others may be returned, too (`Emission.pattern`). Nil for all; ignored
    ///     without `roomIDs`.
    /// - Returns: the entries, and true if there are no more.
    public func entries(
        since seq: Int, through end: Int = .max, ofRooms roomIDs: ArraySlice<String>? = nil, to userID: String? = nil,
        limit: Int, maxBytes: Int = .max, on connection: any Connection
    ) throws -> (entries: [LogEntry], isWhole: Bool) {
        let lists = ParticipantLists()
        var entries: [LogEntry] = []
        var bytes = 0
        var last = keys.key(seq)
        let end = keys.key(end)
        var ofRooms = roomIDs == nil ? "" : "AND room_id IN (SELECT value FROM json_each($4))"
        let pattern = roomIDs == nil ? nil : userID.map(Emission.pattern)
        if pattern != nil { ofRooms += " AND (room_id <> '' OR emissions LIKE $5)" }
        while true {
            // One more than wanted, to see whether there are more. Read in pages, as an engine may hold the
            // whole result in memory.
            let wanted = min(limit + 1 - entries.count, Self.page)
            var parameters: [SQLValue] = [.int(last), .int(end), .int(wanted)]
            if let roomIDs { parameters.append(.list(roomIDs)) }
            if let pattern { parameters.append(.text(pattern)) }
            var found: [LogEntry] = []
            try connection.forEachRow(
                "SELECT \(Self.columns) FROM events WHERE seq > $1 AND seq <= $2 \(ofRooms) ORDER BY seq LIMIT $3",
                binding: parameters
            ) { row in
                found.append(Self.entry(row, sharing: lists))
                // A reader that is behind can wait. Without the yield, the kernel lets a long read keep its
                // core for milliseconds while a message waits.
                if found.count.isMultiple(of: Self.rowsInOneGo) { ThreadPriority.giveWay() }
                return true
            }
            for entry in found {
                bytes += entry.emissionsJSON.bytes.count + Self.bytesOfID * entry.participants.count
                guard entries.count < limit, entries.isEmpty || bytes <= maxBytes else { return (entries, false) }
                entries.append(entry)
                last = entry.key
            }
            if found.count < wanted { return (entries, true) }
        }
    }

    /// The size of an id in JSON, in bytes.
    private static let bytesOfID = 40
    /// The rows that one statement reads.
    private static let page = 100
    /// The rows that are read before other threads get the core.
    private static let rowsInOneGo = 32

    private static let columns = "seq, at, room_id, participants, emissions, request_id, digest"

    private static func entry(_ row: Row) -> LogEntry { entry(row, sharing: ParticipantLists()) }

    private static func entry(_ row: Row, sharing lists: ParticipantLists) -> LogEntry {
        let roomID = row.text(2)
        return LogEntry(
            log: LogKeys.log(of: row.int(0)), seq: LogKeys.seq(of: row.int(0)), at: Timestamp(milliseconds: row.int(1)),
            roomID: roomID, participants: lists.ids(in: row.json(3), ofRoom: roomID) ?? [], emissionsJSON: row.json(4),
            requestID: row.textOrNil(5), writtenDigest: row.intOrNil(6))
    }

    public func head() async throws -> Int { try await database.read { try newest(on: $0)?.seq ?? 0 } }

    public func oldest() async throws -> Int? { try await database.read { try oldest(on: $0) } }

    public func entries(since seq: Int, limit: Int, maxBytes: Int = .max) async throws -> [LogEntry] {
        try await database.read { try entries(since: seq, limit: limit, maxBytes: maxBytes, on: $0).entries }
    }

    // MARK: Pruning

    /// The entries deleted in one write, so that other writes run in between.
    private static let pruneBatch = 1000

    /// Deletes the oldest entries, up to the last one that was written before the given time. That one stays.
    /// The newest entry is never deleted.
    ///
    /// That last entry was the newest one at the given time. So it is the position of each reader that was up to
    /// date at that time, and that position remains valid.
    ///
    /// - Parameter now: the current time. An entry with a later time was written by a clock that was ahead, and does
    ///   not end the search for old entries. If nil, every entry that is not older than `time` ends it.
    /// - Returns: the number of deleted entries.
    @discardableResult
    public func prune(olderThan time: Timestamp, at now: Timestamp? = nil) async throws -> Int {
        try await prune(olderThan: time, at: now, writingIn: log)
    }

    /// - Parameter writer: the number of the log whose writer deletes.
    fileprivate func prune(olderThan time: Timestamp, at now: Timestamp?, writingIn writer: Int) async throws -> Int {
        var total = 0
        // By position and not by time: an index on time would slow every write, and entries are nearly in order.
        var read: Int?
        while true {
            let (deleted, end) = try await database.write(in: writer) { [read, keys] connection in
                var (last, previous): (Int?, Int?) = (nil, read)
                var left = Self.pruneBatch
                try connection.forEachRow(
                    "SELECT seq, at FROM events WHERE seq > $1 AND seq < $2 ORDER BY seq LIMIT $3",
                    binding: [.int(read ?? keys.start), .int(keys.end), .int(left)]
                ) { row in
                    let isAhead = now.map { row.int(1) > $0.milliseconds } ?? false
                    guard isAhead || row.int(1) < time.milliseconds else { return false }
                    if !isAhead { last = previous }
                    previous = row.int(0)
                    left -= 1
                    return true
                }
                let deleted = try last.map {
                    try connection.execute("DELETE FROM events WHERE seq > $1 AND seq <= $2", keys.start, $0)
                }
                return (deleted ?? 0, left > 0 ? nil : previous)
            }
            total += deleted
            guard let end else { return total }
            read = end
        }
    }
}

extension EventLogs {
    /// Prunes all logs (`EventLog.prune`), and deletes those of an earlier generation once all of their entries are old.
    ///
    /// - Returns: the number of deleted entries.
    func prune(olderThan time: Timestamp, at now: Timestamp) async throws -> Int {
        var count = 0
        for log in all { count += try await log.prune(olderThan: time, at: now) }
        for number in try await database.read({ [numbers] in try EventLog.numbers(before: numbers[0], on: $0) }) {
            let old = EventLog(database, log: number)
            count += try await old.prune(olderThan: time, at: now, writingIn: numbers[0])
            count += try await database.write(in: numbers[0]) { connection in
                guard let newest = try old.newest(on: connection), newest.at < time else { return 0 }
                let keys = LogKeys(number)
                return try connection.execute("DELETE FROM events WHERE seq > $1 AND seq < $2", keys.start, keys.end)
            }
        }
        return count
    }
}

/// An entry that would not fit a line of the bus. No follower could read it, nor any later entry.
public struct EntryTooLong: Error, CustomStringConvertible {
    /// The longest entry, in bytes of JSON: the rest of the line is for the page around it.
    static let limit = 1_000_000

    let bytes: Int

    public var description: String { "an entry of the event log has \(bytes) bytes, over the limit of \(Self.limit)" }
}
