import ParlorContracts
import ParlorStorage

// The owner's replies to followers that missed entries of its log, or need its head.
extension EventLog {
    /// Returns the position of the newest entry.
    public func position() async throws -> LogPosition { try await database.read { try position(on: $0) } }

    public func position(on connection: any Connection) throws -> LogPosition {
        LogPosition(after: try newest(on: connection), in: database.databaseID)
    }

    /// Answers a query for this log, over one snapshot.
    ///
    /// - Parameter userID: the person whose rooms the query names; nil if the query is not made for a person. For a
    ///   person, entries without a room are left out if they have no event to that person.
    public func page(for query: LogQuery, to userID: String? = nil) async throws -> LogPage {
        try await database.read { [self] in try page(for: query, to: userID, on: $0) }
    }

    fileprivate func page(for query: LogQuery, to userID: String?, on connection: any Connection) throws -> LogPage {
        let limit = min(max(query.limit ?? LogQuery.maxEntries, 0), LogQuery.maxEntries)
        let bounds = try bounds(on: connection)
        let newest = bounds?.newest
        let head = LogPosition(after: newest, in: database.databaseID)
        let oldest = bounds?.oldest ?? head.seq + 1
        let isKnown =
            try query.digest.map {
                try has(query.since, digest: $0, oldest: oldest, newest: newest, on: connection)
            } ?? true
        let last = min(query.through ?? .max, head.seq)
        let (entries, isWhole) =
            (isKnown || query.since < oldest) && limit > 0
            ? try entries(
                since: query.since, through: last, ofRooms: query.roomIDs, to: userID, limit: limit,
                maxBytes: LogQuery.maxBytes, on: connection) : ([], false)
        return LogPage(
            head: head, oldest: oldest, isKnown: isKnown, entries: entries,
            through: isWhole ? max(query.since, last) : entries.last?.seq ?? query.since)
    }

    private func has(
        _ seq: Int, digest: Int, oldest: Int, newest: LogEntry?, on connection: any Connection
    ) throws -> Bool {
        guard seq > 0 else {
            // The log's beginning is known as long as nothing was pruned.
            return oldest == 1
        }
        if let newest, newest.seq == seq { return newest.digest == digest }
        return try entry(at: seq, on: connection)?.digest == digest
    }
}

/// The event logs of a service, in its one database.
public struct EventLogs: Sendable {
    let database: any Database

    public init(_ database: any Database) { self.database = database }

    /// The numbers of the logs to which the service writes.
    var numbers: [Int] { database.logs }
    var all: [EventLog] { numbers.map { EventLog(database, log: $0) } }

    /// Returns the positions of the newest entries, by the numbers of the logs.
    public func heads() async throws -> [Int: LogPosition] { try await database.read { try heads(on: $0) } }

    private func heads(on connection: any Connection) throws -> [Int: LogPosition] {
        let beginning = LogPosition(after: nil, in: database.databaseID)
        var heads = Dictionary(uniqueKeysWithValues: numbers.map { ($0, beginning) })
        for entry in try EventLog.newest(of: numbers, on: connection) {
            heads[entry.log] = LogPosition(after: entry, in: database.databaseID)
        }
        return heads
    }

    /// Answers a query for one of the logs, also one of an earlier layout, over one snapshot. For a caller that must not
    /// suspend (`Database.read`).
    public func page(
        for query: LogQuery, to userID: String?, completion: @escaping @Sendable (Result<LogPage, any Error>) -> Void
    ) {
        database.read(
            { [self] connection in
                var page = try EventLog(database, log: query.log).page(for: query, to: userID, on: connection)
                if query.limit == 0, numbers != [0] {
                    page.heads = try heads(on: connection)
                    page.earlier = try EventLog.numbers(before: numbers[0], on: connection)
                }
                return page
            }, completion: completion)
    }
}
