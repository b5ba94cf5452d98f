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

    func space() throws(StorageError) -> (used: Int, free: Int?) {
        let pages = (try number("PRAGMA page_count") ?? 0) - (try number("PRAGMA freelist_count") ?? 0)
        let used = pages * (try number("PRAGMA page_size") ?? 0)
        var volume = statvfs()
        guard statvfs(path, &volume) == 0 else { return (used, nil) }
        return (used, Int(volume.f_bavail) * Int(volume.f_frsize))
    }

    /// Defines `unhex`, which SQLite itself has from version 3.41 on.
    func defineUnhex() {
        sqlite3_create_function_v2(
            handle, "unhex", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nil,
            { context, _, arguments in
                guard let argument = arguments?[0], let digits = sqlite3_value_text(argument) else { return }
                var bytes: [UInt8] = []
                for index in stride(from: 0, to: Int(sqlite3_value_bytes(argument)) - 1, by: 2) {
                    let pair = UnsafeBufferPointer(start: digits + index, count: 2)
                    guard let byte = UInt8(String(decoding: pair, as: UTF8.self), radix: 16) else { return }
                    bytes.append(byte)
                }
                sqlite3_result_blob64(context, bytes, UInt64(bytes.count), copied)
            }, nil, nil, nil)
    }
}
