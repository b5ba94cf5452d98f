import CParlorSQLite
import Glibc

/// A prepared statement. It belongs to its connection's thread, and ends with the connection or before it.
final class SQLiteStatement {
    let handle: OpaquePointer
    let isReadOnly: Bool
    var isInUse = false
    private let path: String
    /// SQLite's numbers for `$1`, `$2` …: it numbers names in order of first use, PostgreSQL by the number in
    /// the name.
    private let indexes: [Int32]

    init(_ sql: String, on database: OpaquePointer, of path: String) throws(StorageError) {
        var handle: OpaquePointer?
        let code = sqlite3_prepare_v3(database, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
        guard code == SQLITE_OK, let handle else { throw .compiling(sql, code, on: database, of: path) }
        self.handle = handle
        self.path = path
        isReadOnly = sqlite3_stmt_readonly(handle) != 0
        var indexes = [Int32](repeating: 0, count: Int(sqlite3_bind_parameter_count(handle)))
        for index in 0..<indexes.count {
            let name = sqlite3_bind_parameter_name(handle, Int32(index + 1)).map { String(cString: $0) } ?? "?"
            guard name.first == "$", let number = Int(name.dropFirst()), indexes.indices.contains(number - 1) else {
                preconditionFailure("parameters are $1, $2 … without gaps, not \(name), in: \(sql)")
            }
            indexes[number - 1] = Int32(index + 1)
        }
        self.indexes = indexes
    }

    deinit { sqlite3_finalize(handle) }

    func bind(_ parameters: [SQLValue]) throws(StorageError) {
        precondition(parameters.count == indexes.count, "\(indexes.count) parameters, not \(parameters.count)")
        for (parameter, index) in zip(parameters, indexes) {
            let code =
                switch parameter {
                case .null: sqlite3_bind_null(handle, index)
                case .int(let value): sqlite3_bind_int64(handle, index, Int64(value))
                case .text(let text): bind(text, at: index)
                case .bytes(let bytes): bind(bytes, at: index)
                case .json(let value): value.bytes.withUnsafeBufferPointer { bind(text: $0, at: index) }
                }
            guard code != Self.nulInText else { throw .unstorableText }
            guard code == SQLITE_OK else {
                throw StorageError(sqlite: code, message: "a parameter cannot be bound", file: path)
            }
        }
    }

    /// Prepares for the next use. A failure was reported by the step that failed.
    func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    /// A result code that SQLite does not use.
    private static let nulInText: Int32 = -1

    private func bind(_ text: String, at index: Int32) -> Int32 {
        var text = text
        return text.withUTF8 { bind(text: $0, at: index) }
    }

    private func bind(text: UnsafeBufferPointer<UInt8>, at index: Int32) -> Int32 {
        guard let start = text.baseAddress else { return sqlite3_bind_text64(handle, index, "", 0, nil, utf8) }
        if memchr(start, 0, text.count) != nil { return Self.nulInText }
        return sqlite3_bind_text64(handle, index, start, UInt64(text.count), transient, utf8)
    }

    private func bind(_ bytes: [UInt8], at index: Int32) -> Int32 {
        if bytes.isEmpty { return sqlite3_bind_zeroblob(handle, index, 0) }
        return sqlite3_bind_blob64(handle, index, bytes, UInt64(bytes.count), transient)
    }
}

private let utf8 = UInt8(SQLITE_UTF8)

/// `SQLITE_TRANSIENT`, a macro that Swift cannot import: SQLite copies the bytes before the call returns.
let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

/// The row that a statement is at.
struct SQLiteRow: RowSource {
    let statement: OpaquePointer

    func isNull(_ column: Int) -> Bool { sqlite3_column_type(statement, Int32(column)) == SQLITE_NULL }

    func int(_ column: Int) -> Int { Int(sqlite3_column_int64(statement, Int32(column))) }

    func withBytes<T>(_ column: Int, _ body: (UnsafeBufferPointer<UInt8>) -> T) -> T {
        // Read the pointer first: that call may convert the value, and the length is then that of the
        // converted value.
        let start = sqlite3_column_blob(statement, Int32(column))
        let count = Int(sqlite3_column_bytes(statement, Int32(column)))
        return body(UnsafeBufferPointer(start: start?.assumingMemoryBound(to: UInt8.self), count: count))
    }
}
