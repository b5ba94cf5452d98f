import ParlorContracts
import ParlorEventLog
import ParlorStorage

/// The SQL of a service's positions in other services' logs, in the transaction of a connection.
public struct LogPositionsStore {
    let connection: any Connection

    public init(_ connection: any Connection) { self.connection = connection }

    /// Returns the migration that creates the table `log_positions`. A service that follows logs lists it once.
    public static func migration(version: Int) -> Migration {
        Migration(
            version: version, name: migrationName,
            sql: """
                CREATE TABLE log_positions (
                    stream TEXT PRIMARY KEY,
                    database_id TEXT NOT NULL,
                    seq INTEGER NOT NULL,
                    digest INTEGER NOT NULL
                )
                """)
    }

    private static let migrationName = "positions in logs"

    static func isMigration(_ migration: Migration) -> Bool { migration.name == migrationName }

    /// Returns the stored position; nil if the log was never followed.
    public func position(in logID: LogID) throws -> LogPosition? {
        try connection.first("SELECT database_id, seq, digest FROM log_positions WHERE stream = $1", logID.name) {
            LogPosition(databaseID: $0.text(0), seq: $0.int(1), digest: $0.int(2))
        }
    }

    /// Returns the stored positions in the logs of a service.
    func positions(ofService service: String) throws -> [LogID: LogPosition] {
        var positions: [LogID: LogPosition] = [:]
        try connection.query("SELECT stream, database_id, seq, digest FROM log_positions") { row in
            guard let logID = LogID(name: row.text(0)), logID.service == service else { return }
            positions[logID] = LogPosition(databaseID: row.text(1), seq: row.int(2), digest: row.int(3))
        }
        return positions
    }

    /// Replaces the positions in old logs of a service by those in its new ones, unless another instance has done so. With
    /// none in new ones, they are followed as at first.
    func replace(_ old: [LogID], with positions: [LogID: LogPosition]) throws {
        let names = SQLValue.list(old.map(\.name))
        let count = try connection.execute(
            "DELETE FROM log_positions WHERE stream IN (SELECT value FROM json_each($1))", names)
        guard count > 0 else { return }
        for (logID, position) in positions where try self.position(in: logID) == nil { try set(logID, position) }
    }

    /// Begins at a position, unless another instance has moved on from the known one meanwhile.
    ///
    /// - Parameter known: the position from which the log could not be followed; nil if there was none.
    /// - Returns: the position that is stored now.
    func begin(_ logID: LogID, at position: LogPosition, after known: LogPosition?) throws -> LogPosition {
        let stored = try self.position(in: logID)
        if let stored, Self.hasMoved(stored, from: known) { return stored }
        try set(logID, position)
        return position
    }

    /// Returns true if somebody else has stored this position since the known one.
    static func hasMoved(_ stored: LogPosition, from known: LogPosition?) -> Bool {
        stored.databaseID != known?.databaseID || stored.seq > known?.seq ?? 0
    }

    /// Takes entries and moves the position after them, except for the part that another instance has taken.
    ///
    /// - Parameters:
    ///   - end: the position after the last of the entries.
    ///   - take: stores the result of the remaining entries. Not called if there are none.
    /// - Returns: the position that is stored now; nil if there is none.
    func advance(
        _ logID: LogID, to end: LogPosition, with entries: [LogEntry], _ take: ([LogEntry]) throws -> Void
    ) throws -> LogPosition? {
        guard let stored = try position(in: logID), stored.databaseID == end.databaseID, stored.seq < end.seq else {
            return try position(in: logID)
        }
        let remaining = entries.drop { $0.seq <= stored.seq }
        if !remaining.isEmpty { try take(Array(remaining)) }
        try set(logID, end)
        return end
    }

    private func set(_ logID: LogID, _ position: LogPosition) throws {
        try connection.execute(
            """
            INSERT INTO log_positions (stream, database_id, seq, digest) VALUES ($1, $2, $3, $4)
            ON CONFLICT (stream) DO UPDATE SET database_id = $2, seq = $3, digest = $4
            """, logID.name, position.databaseID, position.seq, position.digest)
    }
}
