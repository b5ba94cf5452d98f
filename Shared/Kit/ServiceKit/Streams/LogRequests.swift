import Contracts
import Storage

/// Answers those who follow a service's event log and have missed something of it: `NAME.events`.
struct LogRequests: Sendable {
    /// Entries in one answer, and their bytes: under the bus' line.
    static let maxEntries = 500
    static let maxBytes = 512 * 1024
    /// Rooms that one request may name.
    static let maxRooms = 10_000

    let database: any Database

    /// `{since?, digest?, through?, roomIds?, limit?}` → a `LogPage`, over one snapshot.
    ///
    /// - `since` is the last position that is known, and `digest` its entry's, if it is to be found out whether the log
    ///   still has the past that the asker knows.
    /// - `through` is the last position of interest, `roomIds` the rooms.
    func entries(for request: Request) async throws -> Reply {
        let fields = request.fields
        let since = try fields.optionalInt("since") ?? 0
        let digest = try fields.optionalInt("digest")
        let end = try fields.optionalInt("through") ?? .max
        let roomIDs = fields.isGiven("roomIds") ? try fields.strings("roomIds", count: 0...Self.maxRooms) : nil
        let limit = min(max(try fields.optionalInt("limit") ?? Self.maxEntries, 0), Self.maxEntries)
        let page = try await database.read { [database] connection in
            let newest = try EventLog.newest(on: connection).map(StreamEntry.init)
            let head = Self.bookmark(after: newest, in: database)
            let known = try digest.map { try Self.has(since, digest: $0, newest: newest, on: connection) } ?? true
            let oldest = try EventLog.oldest(on: connection) ?? head.seq + 1
            let last = min(end, head.seq)
            let (entries, isWhole) =
                (known || since < oldest) && limit > 0
                ? try EventLog.entries(
                    since: since, through: last, ofRooms: roomIDs, limit: limit, maxBytes: Self.maxBytes,
                    on: connection) : ([], false)
            return LogPage(
                head: head, oldest: oldest, isKnown: known,
                entries: entries.map(StreamEntry.init),
                through: isWhole ? max(since, last) : entries.last?.seq ?? since)
        }
        return Reply(.ok, page.json)
    }

    /// Where the log ends.
    func head() async throws -> Bookmark {
        try await database.read { [database] in
            Self.bookmark(after: try EventLog.newest(on: $0).map(StreamEntry.init), in: database)
        }
    }

    private static func bookmark(after entry: StreamEntry?, in database: any Database) -> Bookmark {
        entry.map { Bookmark(after: $0, in: database.databaseID) }
            ?? Bookmark(databaseID: database.databaseID, seq: 0, digest: 0)
    }

    private static func has(
        _ seq: Int, digest: Int, newest: StreamEntry?, on connection: any Connection
    ) throws -> Bool {
        guard seq > 0 else {
            // The beginning is known as long as nothing was pruned.
            return try EventLog.oldest(on: connection) ?? 1 == 1
        }
        if let newest, newest.seq == seq { return newest.digest == digest }
        return try EventLog.entry(at: seq, on: connection).map { StreamEntry($0).digest == digest } ?? false
    }
}

extension StreamEntry {
    init(_ entry: LogEntry) {
        self.init(
            seq: entry.seq, at: Timestamp(milliseconds: entry.at), roomID: entry.roomID,
            participants: entry.participants, emissionsJSON: entry.emissions, requestID: entry.requestID)
    }
}
