import Foundation
import ParlorStorage

/// The engines of a conformance suite, which relies only on what `Database` promises.
public enum Engine: String, CaseIterable, Sendable, CustomStringConvertible {
    case file = "SQLite in a file"
    case temporary = "SQLite without one"
    case postgres = "PostgreSQL"

    /// The engines to test: PostgreSQL only if TEST_ON_POSTGRES is set (Tests/README.md).
    public static let allCases: [Engine] = [.file, .temporary] + (isPostgresWanted ? [.postgres] : [])
    /// Those whose data is still there when a database is opened again.
    public static let lasting = allCases.filter { $0 != .temporary }

    public static let isPostgresWanted = ProcessInfo.processInfo.environment["TEST_ON_POSTGRES"] != nil

    public var description: String { rawValue }

    /// Opens the database of a folder: the same folder has the same data, on PostgreSQL too.
    public func open(
        _ migrations: [Migration], configuration: DatabaseConfiguration = DatabaseConfiguration(),
        in folder: TemporaryFolder
    ) throws -> any Database {
        switch self {
        case .file:
            return try SQLiteDatabase(
                .file(folder.file("test.db")), migrations: migrations, configuration: configuration)
        case .temporary:
            return try SQLiteDatabase(.temporary, migrations: migrations, configuration: configuration)
        case .postgres:
            // A transaction that waits for the test waits longer on a busy machine.
            var configuration = configuration
            configuration.idleTimeoutMilliseconds = 60_000
            return try PostgresDatabase(
                PostgresServer.url(), schema: PostgresServer.schema(of: folder), migrations: migrations,
                configuration: configuration)
        }
    }

    /// Opens a database with one migration. Without SQL it has the table that `ids()` and `insert(_:)` use.
    public func open(
        _ sql: String = "CREATE TABLE items (id TEXT PRIMARY KEY, n INTEGER)",
        configuration: DatabaseConfiguration = DatabaseConfiguration(), in folder: TemporaryFolder
    ) throws -> any Database {
        try open([Migration(version: 1, name: "items", sql: sql)], configuration: configuration, in: folder)
    }
}

extension Database {
    public func ids() async throws -> [String] {
        try await read { try $0.all("SELECT id FROM items ORDER BY id") { $0.text(0) } }
    }

    public func insert(_ id: String) async throws {
        try await write { try $0.execute("INSERT INTO items (id) VALUES ($1)", id) }
    }
}
