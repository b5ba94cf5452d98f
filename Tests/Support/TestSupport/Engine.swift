import Storage

/// The engines of a conformance suite, which relies only on what `Database` promises.
public enum Engine: String, CaseIterable, Sendable, CustomStringConvertible {
    case file = "SQLite in a file"
    case temporary = "SQLite without one"
    case postgres = "PostgreSQL"

    public var description: String { rawValue }

    public func open(
        _ sql: String = "CREATE TABLE items (id TEXT PRIMARY KEY, n INTEGER)",
        configuration: DatabaseConfiguration = DatabaseConfiguration(), in folder: TemporaryFolder
    ) throws -> any Database {
        let migrations = [Migration(version: 1, name: "items", sql: sql)]
        switch self {
        case .file:
            return try SQLiteDatabase(
                .file(folder.file("test.db")), migrations: migrations, configuration: configuration)
        case .temporary:
            return try SQLiteDatabase(.temporary, migrations: migrations, configuration: configuration)
        case .postgres:
            return try PostgresDatabase(
                PostgresServer.url(), schema: PostgresServer.newSchema(), migrations: migrations,
                configuration: configuration)
        }
    }
}
