/// A database in a schema of a PostgreSQL server: one thread that writes, a few that read, each with a connection.
///
/// Several programs may have the same schema open: their writes take turns by a lock of it.
public final class PostgresDatabase: ThreadedDatabase {
    /// Who else may serve it.
    public enum Claim: Sendable {
        /// Others, who hear of each other's changes.
        case shared
        /// Nobody: what another writes would be told to nobody here.
        case alone
    }

    public let databaseID: String
    let threads: DatabaseThreads<PostgresConnection>

    /// Creates the schema if it is not there and brings it up to date. Blocks: it is for the start of a program.
    ///
    /// - Parameters:
    ///   - schema: the service's name, a lower-case word.
    ///   - migrations: the service's own, from the first on; the event log's are added.
    /// - Throws: `MigrationError`, with nothing changed; `StorageError`, `.io` if the server is not there or another program's
    ///   claim is in the way.
    public init(
        _ url: PostgresURL, schema: String, claim: Claim = .shared, migrations: [Migration],
        configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws {
        let connection = PostgresConnection(PostgresSession(url, schema: schema, claim: claim), role: .writer)
        try connection.transaction { try PostgresSchema.create(schema, on: $0) }
        databaseID = try SchemaHistory.migrate(connection, migrations)
        let readers = (0..<configuration.readers).map { _ in
            PostgresConnection(PostgresSession(url, schema: schema), role: .reader)
        }
        threads = DatabaseThreads(
            named: schema, writer: connection, readers: readers, configuration: configuration)
    }
}
