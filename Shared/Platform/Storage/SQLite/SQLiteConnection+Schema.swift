import CParlorSQLite
import Glibc

extension SQLiteConnection {
    /// Returns true if one of our programs has opened it before.
    func hasSchemaHistory() throws(StorageError) -> Bool {
        try number("SELECT 1 FROM sqlite_master WHERE name = 'schema_history'") != nil
    }

    func hasColumn(_ column: String, in table: String) throws(StorageError) -> Bool {
        try number("SELECT 1 FROM pragma_table_info('\(table)') WHERE name = '\(column)'") != nil
    }

    func usedBytes() throws(StorageError) -> Int {
        let pages = (try number("PRAGMA page_count") ?? 0) - (try number("PRAGMA freelist_count") ?? 0)
        return pages * (try number("PRAGMA page_size") ?? 0)
    }

    var freeBytes: Int? {
        var volume = statvfs()
        guard statvfs(path, &volume) == 0 else { return nil }
        // The log is written anew: what a process that was killed has left there is free.
        return Int(volume.f_bavail) * Int(volume.f_frsize) + SQLiteFile(path: path + "-wal").size
    }

    /// Defines `unhex`, which SQLite itself has from version 3.41 on.
    func defineUnhex() {
        let code = sqlite3_create_function_v2(
            handle, "unhex", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nil,
            { context, _, arguments in
                guard let argument = arguments?[0], let start = sqlite3_value_text(argument) else { return }
                let digits = UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(argument)))
                // The result of anything else is NULL.
                guard let bytes = ShortID.bytes(ofDigits: digits) else { return }
                sqlite3_result_blob64(context, bytes, UInt64(bytes.count), transient)
            }, nil, nil, nil)
        precondition(code == SQLITE_OK, "SQLite refuses a function")
    }
}
