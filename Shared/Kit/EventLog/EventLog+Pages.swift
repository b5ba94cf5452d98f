import ParlorContracts
import ParlorStorage

// The owner's replies to followers that missed entries of its log, or need its head.
extension EventLog {
    /// Returns the position of the newest entry.
    public func position() async throws -> LogPosition {
        try await database.read { [database] in LogPosition(after: try Self.newest(on: $0), in: database.databaseID) }
    }

    /// Answers a query, over one snapshot.
    ///
    /// - Parameter userID: the person whose rooms the query names; nil if the query is not made for a person. For a
    ///   person, entries without a room are left out if they have no event to that person.
    public func page(for query: LogQuery, to userID: String? = nil) async throws -> LogPage {
        try await database.read { [self] in try page(for: query, to: userID, on: $0) }
    }

    /// The same for a caller that must not suspend (`Database.read`).
    public func page(
        for query: LogQuery, to userID: String?, completion: @escaping @Sendable (Result<LogPage, any Error>) -> Void
    ) {
        database.read({ [self] in try page(for: query, to: userID, on: $0) }, completion: completion)
    }

    private func page(for query: LogQuery, to userID: String?, on connection: any Connection) throws -> LogPage {
        let limit = min(max(query.limit ?? LogQuery.maxEntries, 0), LogQuery.maxEntries)
        let bounds = try Self.bounds(on: connection)
        let newest = bounds?.newest
        let head = LogPosition(after: newest, in: database.databaseID)
        let oldest = bounds?.oldest ?? head.seq + 1
        let isKnown =
            try query.digest.map {
                try Self.has(query.since, digest: $0, oldest: oldest, newest: newest, on: connection)
            } ?? true
        let last = min(query.through ?? .max, head.seq)
        let (entries, isWhole) =
            (isKnown || query.since < oldest) && limit > 0
            ? try Self.entries(
                since: query.since, through: last, ofRooms: query.roomIDs, to: userID, limit: limit,
                maxBytes: LogQuery.maxBytes, on: connection) : ([], false)
        return LogPage(
            head: head, oldest: oldest, isKnown: isKnown, entries: entries,
            through: isWhole ? max(query.since, last) : entries.last?.seq ?? query.since)
    }

    private static func has(
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
