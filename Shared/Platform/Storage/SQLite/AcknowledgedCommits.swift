import Glibc

/// The file beside an SQLite database that says what the database has acknowledged.
///
/// SQLite takes a write-ahead log that is missing or damaged for one that ends there, and opens the rest as if nothing
/// had been committed since. So a start compares the database with this file, and refuses one that has less.
///
/// The file is written after each synced commit, and never synced. It survives the death of the process. After a power
/// cut it may name an earlier commit than the last one, and never a later one.
struct AcknowledgedCommits {
    /// The last commit of each kind. If two processes share a database, each counts its own, so this can be behind.
    struct Position: Equatable {
        let databaseID: String
        /// The number of the last entry of the event log.
        var entry: Int
        /// The number of commits that changed something and reported no entry.
        var others: Int

        var line: String { "\(databaseID) \(entry) \(others)\n" }
    }

    private let descriptor: Int32
    private var position: Position

    /// Creates the file, or takes it over, for a database that has been migrated.
    init?(of file: SQLiteFile, on connection: SQLiteConnection) throws {
        guard let position = try Position(on: connection) else { return nil }
        self.position = position
        descriptor = try SQLiteFile(path: Self.path(of: file)).open(O_WRONLY | O_CREAT)
        write()
    }

    private static func path(of file: SQLiteFile) -> String { file.path + "-acknowledged" }

    /// Records a commit that has been synced.
    ///
    /// - Parameter entry: its last entry of the event log; nil if it reported none.
    mutating func advance(to entry: Int?) {
        if let entry { position.entry = entry } else { position.others += 1 }
        write()
    }

    func close() { Glibc.close(descriptor) }

    /// A failure is ignored: without the record, less can be noticed at the next start, and nothing is lost. A line that is
    /// longer than its successor leaves a rest, which no one reads.
    private func write() {
        var line = position.line
        _ = line.withUTF8 { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    }

    // MARK: At a start

    /// Refuses a database that lacks commits which it has acknowledged. To be called before the connection writes or sets a
    /// limit for the log's size, and with the log kept on close: a refusal leaves the files as they are.
    ///
    /// A database without an id, or with another one, is a backup that was restored, and has a history of its own.
    ///
    /// - Throws: `.corrupt`, which says what to do.
    static func require(of file: SQLiteFile, on connection: SQLiteConnection) throws {
        guard let recorded = read(path(of: file)) else { return }
        var (entry, others) = (0, 0)
        if try connection.hasSchemaHistory() {
            guard let found = try Position(on: connection), found.databaseID == recorded.databaseID else { return }
            (entry, others) = (found.entry, found.others)
        }
        guard entry < recorded.entry || others < recorded.others else { return }
        throw StorageError.corrupt(
            """
            \(file.path) lacks acknowledged changes: it ends at entry \(entry) and change \(others), and not at \
            \(recorded.entry) and \(recorded.others). Its write-ahead log \(file.path)-wal is missing or damaged. \
            Put both files back as they were, or restore a backup. To go on without these changes, delete \
            \(path(of: file))
            """)
    }

    /// Returns what the file says; nil without one, or if it is damaged itself.
    private static func read(_ path: String) -> Position? {
        guard let descriptor = try? SQLiteFile(path: path).open(O_RDONLY) else { return nil }
        defer { Glibc.close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        guard count > 0, let end = bytes[..<count].firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let parts = bytes[..<end].split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        guard parts.count == 3, let entry = Int(parts[1]), let others = Int(parts[2]) else { return nil }
        return Position(databaseID: parts[0], entry: entry, others: others)
    }
}

extension AcknowledgedCommits.Position {
    /// Reads the position of a database that has a schema; nil if it has no id, or if its last migration is older than this
    /// column.
    init?(on connection: SQLiteConnection) throws {
        guard try connection.hasColumn("other_commits", in: "database_identity") else { return nil }
        let found = try connection.first(
            """
            SELECT id, other_commits, (SELECT coalesce(max(seq), 0) FROM events) FROM database_identity
            """
        ) { Self(databaseID: $0.text(0), entry: $0.int(2), others: $0.int(1)) }
        guard let found else { return nil }
        self = found
    }
}
