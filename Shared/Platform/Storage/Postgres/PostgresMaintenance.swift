/// A service's schema of a PostgreSQL server.
public final class PostgresMaintenance: MaintenanceDatabase {
    private let reader: PostgresConnection
    private let writer: PostgresConnection

    /// - Throws: `StorageError`, `.io` if the server is not there, `.corrupt` if it has no such schema of Parlor's.
    public init(existing url: PostgresURL, schema: String) throws {
        reader = PostgresConnection(PostgresSession(url, schema: schema), role: .reader)
        writer = PostgresConnection(PostgresSession(url, schema: schema), role: .writer)
        let isThere = try read { connection in
            try connection.first(
                "SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = 'schema_history'", schema
            ) { _ in true }
        }
        guard isThere == true else { throw StorageError.corrupt("\(url) has no \(schema) of Parlor") }
    }

    public func requireSchema(_ migrations: [Migration]) throws {
        try read { try SchemaHistory.requireCurrent(migrations, of: "service", on: $0) }
    }

    public func read<T>(_ body: (any Connection) throws -> T) throws -> T { try reader.snapshot(body) }

    public func write<T>(_ body: (any Connection) throws -> T) throws -> T { try writer.transaction(body) }

    public func close() {
        reader.close()
        writer.close()
    }
}
