import ParlorStorage
import Synchronization

/// A database that counts the rows returned to its reads.
final class CountedReads: Database {
    private let database: any Database
    private let count = Mutex(0)

    init(_ database: any Database) { self.database = database }

    /// - Returns: the rows since the last call.
    func takeRows() -> Int {
        count.withLock { count in
            defer { count = 0 }
            return count
        }
    }

    var databaseID: String { database.databaseID }
    var logs: [Int] { database.logs }
    var statistics: DatabaseStatistics { database.statistics }

    func snapshot(
        _ body: @escaping @Sendable (any Connection) throws -> Void,
        completion: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        database.snapshot(
            { [self] connection in
                let counted = CountingConnection(connection)
                defer { count.withLock { $0 += counted.rows } }
                try body(counted)
            }, completion: completion)
    }

    func transaction(
        holding bytes: Int, _ durability: Durability, in log: Int, wanting key: WantedKey?,
        _ body: @escaping @Sendable (any Connection) throws -> Void
    ) async throws {
        try await database.transaction(holding: bytes, durability, in: log, wanting: key, body)
    }

    func onCommit(_ hook: @escaping @Sendable ([any CommitEvent]) -> Void) { database.onCommit(hook) }

    func close() async { await database.close() }
}

private final class CountingConnection: Connection {
    private let connection: any Connection
    private(set) var rows = 0

    init(_ connection: any Connection) { self.connection = connection }

    func execute(_ sql: String, binding parameters: [SQLValue]) throws(StorageError) -> Int {
        try connection.execute(sql, binding: parameters)
    }

    func forEachRow(_ sql: String, binding parameters: [SQLValue], _ body: (Row) throws -> Bool) throws {
        try connection.forEachRow(sql, binding: parameters) { row in
            rows += 1
            return try body(row)
        }
    }

    var record: TransactionRecord { connection.record }
}
