import CParlorSQLite

extension StorageError {
    /// Converts an extended result code. `message` belongs to the same failure.
    init(sqlite code: Int32, message: String, file path: String) {
        switch code & 0xFF {
        case SQLITE_BUSY, SQLITE_LOCKED: self = .busy
        case SQLITE_FULL: self = .full
        case SQLITE_CORRUPT, SQLITE_NOTADB: self = .corrupt("\(path) is damaged: \(message)")
        // A table or column that a migration created, or that the SQL names by mistake.
        case SQLITE_ERROR where message.hasPrefix("no such "):
            self = .corrupt("\(path) is damaged, or the SQL is wrong: \(message)")
        case SQLITE_CONSTRAINT:
            // Macros that Swift cannot import: SQLITE_CONSTRAINT | 8 << 8, | 6 << 8 and | 10 << 8.
            let unique = SQLITE_CONSTRAINT | 8 << 8
            let primaryKey = SQLITE_CONSTRAINT | 6 << 8
            let rowID = SQLITE_CONSTRAINT | 10 << 8
            self = [unique, primaryKey, rowID].contains(code) ? .unique(Self.indexName(message)) : .constraint(message)
        case SQLITE_ERROR, SQLITE_TOOBIG, SQLITE_MISMATCH: self = .rejected(message)
        default: self = .io("\(path): \(message)")
        }
    }

    /// Converts the result of compiling SQL. SQL with a mistake ends the process; one that names what the schema lacks may be
    /// right, and the file damaged.
    static func compiling(_ sql: String, _ code: Int32, on database: OpaquePointer?, of path: String) -> StorageError {
        let message = String(cString: sqlite3_errmsg(database))
        guard code & 0xFF == SQLITE_ERROR || code == SQLITE_OK else {
            return StorageError(sqlite: code, message: message, file: path)
        }
        guard message.hasPrefix("no such ") else { fatalError("\(message) in: \(sql)") }
        return StorageError(sqlite: code, message: "\(message) in: \(sql)", file: path)
    }

    /// Returns the index that a message names, as in `UNIQUE constraint failed: index 'people_username'`, or else the
    /// columns, as in `… failed: people.id, people.n`.
    private static func indexName(_ message: String) -> String {
        let what = message.split(separator: ": ", maxSplits: 1).last ?? ""
        guard what.hasPrefix("index '"), what.hasSuffix("'") else { return String(what) }
        return String(what.dropFirst("index '".count).dropLast())
    }
}
