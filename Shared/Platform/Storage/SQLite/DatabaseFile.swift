/// The file of an SQLite database.
public final class DatabaseFile: MaintenanceDatabase {
    private let path: String
    private let reader: SQLiteConnection

    /// The wait for the lock. It is long because the program beside this one commits all the time under load, and
    /// SQLite retries only now and then.
    private static let busyTimeoutMilliseconds = 20_000

    /// Opens a database that exists.
    ///
    /// - Throws: `StorageError.io` if there is no such file, `.corrupt` if it was not created by Parlor, or lacks what it has
    ///   acknowledged.
    public init(existing path: String) throws {
        let file = SQLiteFile(path: path)
        try file.requireExistence()
        try AcknowledgedCommits.require(of: file, busyTimeoutMilliseconds: Self.busyTimeoutMilliseconds)
        self.path = path
        reader = try Self.connect(path, role: .reader)
        guard try reader.hasSchemaHistory() else {
            throw StorageError.corrupt("\(path) is not a database of Parlor")
        }
    }

    private static func connect(_ path: String, role: SQLiteConnection.Role) throws(StorageError) -> SQLiteConnection {
        let connection = try SQLiteConnection(path, role: role)
        // Do not use the program's own configuration: it would turn a backup copy into one with a log beside
        // it.
        try connection.run(
            script: """
                PRAGMA busy_timeout = \(busyTimeoutMilliseconds);
                PRAGMA synchronous = FULL;
                PRAGMA foreign_keys = ON;
                PRAGMA trusted_schema = OFF;
                PRAGMA query_only = \(role == .reader ? "ON" : "OFF");
                """)
        return connection
    }

    public func requireSchema(_ migrations: [Migration]) throws {
        try read { _ in try SchemaHistory.requireCurrent(migrations, of: "service", on: self.reader) }
    }

    public func read<T>(_ body: (any Connection) throws -> T) throws -> T { try reader.snapshot(body) }

    public func logs() -> [Int] { [0] }

    public func write<T>(in log: Int, _ body: (any Connection) throws -> T) throws -> T {
        let writer = try Self.connect(path, role: .writer)
        defer { writer.close() }
        return try writer.transaction(body)
    }

    /// Copies the database as of one moment, regardless of concurrent writes, into a new self-contained file.
    ///
    /// When the copy is opened it gets a database id of its own: positions in one log are invalid in the other. When
    /// this returns, the copy has been checked and its contents are on disk. Its name is on disk only once its
    /// directory is synced.
    ///
    /// - Throws: `StorageError`, `.full` without space and `.corrupt` for a copy that is not sound. The
    ///   caller then has to remove the partial copy.
    public func copy(to path: String) throws {
        let file = SQLiteFile(path: path)
        try file.createNew()
        let copy = try SQLiteConnection(path, role: .writer)
        defer { copy.close() }
        // The sync below makes the copy durable, and a copy that failed is useless.
        try copy.run(script: "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        try reader.copyAll(to: copy)
        // The copied pages say that the file is in write-ahead mode. Without this, the next writes would go to a
        // log beside it.
        try copy.run(script: "PRAGMA journal_mode = DELETE")
        try copy.transaction { try DatabaseIdentity.forget(on: $0) }
        let finding = try copy.first("SELECT quick_check FROM pragma_quick_check(1)") { $0.text(0) }
        guard finding == "ok" else {
            throw StorageError.corrupt("\(self.path) is damaged: \(finding ?? "it cannot be checked")")
        }
        copy.close()
        try file.sync()
    }

    public func close() { reader.close() }
}
