/// A database in an SQLite file: one thread that writes and a few that read.
///
/// It uses WAL with `synchronous=FULL`: a commit returns after its log is on disk, unless it is `.relaxed`. Readers
/// never wait for the writer. `AcknowledgedCommits` finds out at the next start whether the log was lost. Releasing the
/// last reference closes it like `close`, without waiting.
public final class SQLiteDatabase: ThreadedDatabase {
    public enum Location: Sendable {
        /// A file, whose directory must exist.
        case file(String)
        /// An unnamed file that is gone when the database is closed. Commits do not wait for the disk. In everything
        /// else it behaves like `file`.
        case temporary
    }

    public let databaseID: String
    public var logs: [Int] { [0] }
    let threads: DatabaseThreads<SQLiteConnection>
    /// The file that was opened; nil for a temporary one, which has no name.
    private let opened: (file: SQLiteFile, identity: SQLiteFile.Identity?)?

    /// Opens or creates the database and migrates it. Blocks, so call it when a program starts.
    ///
    /// - Parameter migrations: the service's own, from the first on; the event log's are added.
    /// - Throws: `MigrationError`, with nothing changed; `StorageError`.
    public init(
        _ location: Location, migrations: [Migration], configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws {
        let isTemporary: Bool
        let file: SQLiteFile
        switch location {
        case .file(let path):
            isTemporary = false
            file = SQLiteFile(path: path)
            try AcknowledgedCommits.require(of: file, busyTimeoutMilliseconds: configuration.busyTimeoutMilliseconds)
            try file.create()
        case .temporary:
            isTemporary = true
            file = try SQLiteFile.temporary()
        }
        defer { if isTemporary { file.unlink() } }
        let connection = try SQLiteConnection(file.path, role: .writer)
        try connection.configure(configuration, isDurable: !isTemporary)
        databaseID = try SchemaHistory.migrate(
            connection, migrations, report: configuration.onConversion)
        if !isTemporary {
            // The file then has its id and its schema, whatever happens to the log.
            _ = connection.checkpoint()
            connection.acknowledged = try AcknowledgedCommits(of: file, databaseID, on: connection)
            DatabaseNames(besides: file).add(file)
            try file.syncDirectory()
        }
        opened = isTemporary ? nil : (file, file.identity)
        let readers = try (0..<configuration.readers).map { _ in
            let reader = try SQLiteConnection(file.path, role: .reader)
            try reader.configure(configuration, isDurable: !isTemporary)
            // Its first read opens the log, while the name still exists.
            _ = try DatabaseIdentity.load(on: reader)
            return reader
        }
        threads = DatabaseThreads(
            named: file.name, writers: [connection], readers: readers, configuration: configuration)
    }

    public func requireFile() throws {
        guard let opened, opened.file.identity != opened.identity else { return }
        throw StorageError.corrupt(
            "\(opened.file.path) was removed or replaced while it is open: what is written now is lost at the stop")
    }
}
