import Glibc

/// The file beside an SQLite database that says what the database has acknowledged.
///
/// SQLite takes a write-ahead log that is missing or damaged for one that ends there, and opens the rest as if nothing
/// had been committed since. So a start compares the database with this file, and refuses one that has less.
///
/// The file is written after each synced commit, and synced only when it is created. It survives the death of the
/// process. After a power cut it may name an earlier commit than the last one, and never a later one.
struct AcknowledgedCommits {
    /// What is counted. Each has a place of its own in the file, as processes that share a database each write what they
    /// commit.
    enum Kind: Int, CaseIterable {
        /// The number of the last entry of the event log.
        case entry
        /// The number of commits that changed something and reported no entry.
        case others

        fileprivate var offset: Int { rawValue * Self.size }
        /// The size of each record: a line, padded with blanks.
        fileprivate static let size = 64
    }

    /// A database, and how far it is.
    struct Position {
        var databaseID: String?
        var counts: [Kind: Int] = [:]

        subscript(kind: Kind) -> Int { counts[kind, default: 0] }
    }

    private let descriptor: Int32
    private let databaseID: String

    /// Creates the file, or takes it over, for a database that has been migrated.
    init(of file: SQLiteFile, _ databaseID: String, on connection: SQLiteConnection) throws {
        // A number has at most twenty characters.
        guard databaseID.utf8.count <= Kind.size - 22 else {
            throw StorageError.corrupt("\(file.path) has an id of \(databaseID.utf8.count) bytes")
        }
        let record = SQLiteFile(path: Self.path(of: file))
        let position = try Position(on: connection)
        if !record.exists {
            // It gets its name once it is whole, because a start refuses a damaged one.
            let draft = SQLiteFile(path: "\(record.path).new-\(UInt64.random(in: 0...UInt64.max))")
            defer { Glibc.unlink(draft.path) }
            let whole = AcknowledgedCommits(descriptor: try draft.open(O_WRONLY | O_CREAT), databaseID: databaseID)
            defer { whole.close() }
            for kind in Kind.allCases { whole.note(position[kind], kind) }
            guard fsync(whole.descriptor) == 0, draft.size == Kind.allCases.count * Kind.size else {
                throw StorageError.io("\(draft.path) cannot be written")
            }
            // Another process may have created it meanwhile, which then stays. Some file systems have no links.
            if link(draft.path, record.path) != 0, errno != EEXIST { rename(draft.path, record.path) }
        }
        self.init(descriptor: try record.open(O_WRONLY), databaseID: databaseID)
        for kind in Kind.allCases { note(position[kind], kind) }
    }

    private init(descriptor: Int32, databaseID: String) {
        self.descriptor = descriptor
        self.databaseID = databaseID
    }

    private static func path(of file: SQLiteFile) -> String { file.path + "-acknowledged" }

    /// Records a commit that has been synced.
    ///
    /// A failure is ignored: without the record, less can be noticed at the next start, and nothing is lost.
    func note(_ count: Int, _ kind: Kind) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Kind.size) { line in
            line.initialize(repeating: UInt8(ascii: " "))
            line[Kind.size - 1] = UInt8(ascii: "\n")
            var at = 0
            for byte in databaseID.utf8 {
                line[at] = byte
                at += 1
            }
            for byte in String(count).utf8 {
                at += 1
                line[at] = byte
            }
            pwrite(descriptor, line.baseAddress, Kind.size, off_t(kind.offset))
        }
    }

    func close() { Glibc.close(descriptor) }

    // MARK: At a start

    /// Refuses a database that lacks commits which it has acknowledged, and leaves all files as they are.
    ///
    /// A database without an id is a backup that was restored, and has a history of its own.
    ///
    /// - Throws: `.corrupt`, which says what to do.
    static func require(of file: SQLiteFile, busyTimeoutMilliseconds: Int) throws {
        if file.size == 0 {
            do {
                return try requireNew(file)
            } catch {
                // Another program may have created it meanwhile: its bytes come first, and all that was found after them.
                if file.size == 0 { throw error }
            }
        }
        guard let recorded = try read(path(of: file)) else { return }
        let connection = try SQLiteConnection(file.path, role: .reader, isReadOnly: true)
        defer { connection.close() }
        try connection.waitForLocks(milliseconds: busyTimeoutMilliseconds)
        let found = try Position(on: connection)
        // A database without a schema lacks everything.
        if !found.counts.isEmpty {
            guard let id = found.databaseID else { return }
            guard id == recorded.databaseID else {
                throw refusal(of: file, "it is, or its log is, of another database")
            }
        }
        for kind in Kind.allCases where found[kind] < recorded[kind] {
            throw refusal(of: file, "it ends at \(kind) \(found[kind]), and not at \(recorded[kind])")
        }
    }

    /// Refuses a database without any bytes if something is left of an earlier one.
    private static func requireNew(_ file: SQLiteFile) throws {
        let log = SQLiteFile(path: file.path + "-wal")
        // SQLite would delete the log.
        guard log.size == 0 else {
            throw StorageError.corrupt(
                """
                \(file.path) is missing or empty, and its write-ahead log \(log.path) is there. Put the file back, or \
                restore a backup. To start with an empty database, delete the log and \(path(of: file))
                """)
        }
        guard let recorded = try read(path(of: file)) else { return try DatabaseNames(besides: file).requireNew(file) }
        guard recorded.counts.values.allSatisfy({ $0 == 0 }) else {
            throw refusal(of: file, "it is missing or empty")
        }
    }

    private static func refusal(of file: SQLiteFile, _ reason: String) -> StorageError {
        .corrupt(
            """
            \(file.path) lacks acknowledged changes: \(reason). The file or its write-ahead log \(file.path)-wal is missing, \
            older or damaged. Put both back as they were, or restore a backup. To go on with what is there, delete \
            \(path(of: file))
            """)
    }

    /// Returns what the record says, or nil if there is none.
    private static func read(_ path: String) throws -> Position? {
        let record = SQLiteFile(path: path)
        guard record.exists else { return nil }
        let descriptor = try record.open(O_RDONLY)
        defer { Glibc.close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: Kind.allCases.count * Kind.size)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        var position = Position()
        for kind in Kind.allCases {
            let line = String(decoding: bytes[kind.offset..<kind.offset + Kind.size], as: UTF8.self)
            let parts = line.split(whereSeparator: \.isWhitespace)
            guard count == bytes.count, parts.count == 2, let count = Int(parts[1]) else {
                throw StorageError.corrupt(
                    """
                    \(path) is damaged. It says what the database beside it has acknowledged. Put it back, or delete it to \
                    start with what the database has
                    """)
            }
            position.databaseID = String(parts[0])
            position.counts[kind] = count
        }
        return position
    }
}

extension AcknowledgedCommits.Position {
    /// Reads the position of a database; one without counts if it has no schema yet. It has no id if it is a backup that was
    /// never opened.
    init(on connection: SQLiteConnection) throws {
        guard try connection.hasSchemaHistory() else { return }
        databaseID = try DatabaseIdentity.load(on: connection)
        counts[.entry] = try connection.lastSeq()
        // An earlier version of the schema lacks the column.
        guard try connection.hasColumn("other_commits", in: "database_identity") else { return }
        counts[.others] = try DatabaseIdentity.countedCommits(on: connection)
    }
}
