import Foundation
import Storage
import TestSupport
import Testing

/// The engines that the conformance suite runs on: it knows only what `Database` promises.
enum Engine: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case file = "SQLite in a file"
    case temporary = "SQLite without one"
    case postgres = "PostgreSQL"

    var testDescription: String { rawValue }

    func open(
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

extension TemporaryFolder {
    /// The files as a process that died now would leave them.
    func copyAsAfterACrash() throws -> TemporaryFolder {
        let copy = TemporaryFolder()
        for name in ["test.db", "test.db-wal"] where FileManager.default.fileExists(atPath: file(name)) {
            try FileManager.default.copyItem(atPath: file(name), toPath: copy.file(name))
        }
        return copy
    }
}

extension Database {
    func ids() async throws -> [String] {
        try await read { try $0.all("SELECT id FROM items ORDER BY id") { $0.text(0) } }
    }

    func insert(_ id: String) async throws {
        try await write { try $0.execute("INSERT INTO items (id) VALUES ($1)", id) }
    }
}
