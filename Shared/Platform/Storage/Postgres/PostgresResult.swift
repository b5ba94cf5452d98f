import CParlorPostgres

/// The server's result, freed with its last reference.
final class PostgresResult {
    let handle: OpaquePointer?

    init(_ handle: OpaquePointer?) { self.handle = handle }

    deinit { PQclear(handle) }

    var isFailure: Bool {
        let status = PQresultStatus(handle)
        return status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK
    }

    var rows: Int { Int(PQntuples(handle)) }
    var command: String { String(cString: PQcmdStatus(handle)) }
    /// The number of rows inserted, changed or deleted; 0 for a SELECT.
    var changes: Int { command.hasPrefix("SELECT") ? 0 : Int(String(cString: PQcmdTuples(handle))) ?? 0 }
    /// The SQLSTATE; empty if the failure is libpq's own, such as a lost connection.
    var sqlState: String { field("C") }

    var error: StorageError {
        let message = String(cString: PQresultErrorMessage(handle))
        return StorageError(
            sqlState: sqlState, message: message.split(separator: "\n").first.map(String.init) ?? "no answer",
            constraint: field("n"))
    }

    /// Returns a field of the error by its letter in the protocol.
    private func field(_ letter: Character) -> String {
        guard let code = letter.asciiValue, let text = PQresultErrorField(handle, Int32(code)) else { return "" }
        return String(cString: text)
    }
}

/// A row of a result, in text form: whole numbers of every width and the numeric of `sum` are read in the
/// same way.
struct PostgresRow: RowSource {
    private static let boolean: Oid = 16
    private static let bytea: Oid = 17

    let result: PostgresResult
    let row: Int32

    func isNull(_ column: Int) -> Bool { PQgetisnull(result.handle, row, Int32(column)) != 0 }

    func int(_ column: Int) -> Int {
        let text = String(cString: PQgetvalue(result.handle, row, Int32(column)))
        if PQftype(result.handle, Int32(column)) == Self.boolean { return text == "t" ? 1 : 0 }
        guard let value = Int(text) else { preconditionFailure("column \(column) is not a whole number") }
        return value
    }

    func withBytes<T>(_ column: Int, _ body: (UnsafeBufferPointer<UInt8>) -> T) -> T {
        let count = Int(PQgetlength(result.handle, row, Int32(column)))
        // Never nil for an existing column that is not NULL, which `isNull` has checked.
        guard let start = PQgetvalue(result.handle, row, Int32(column)) else {
            return body(.init(start: nil, count: 0))
        }
        return start.withMemoryRebound(to: UInt8.self, capacity: count) { start in
            guard PQftype(result.handle, Int32(column)) == Self.bytea else {
                return body(UnsafeBufferPointer(start: start, count: count))
            }
            var size = 0
            let bytes = PQunescapeBytea(start, &size)
            defer { PQfreemem(bytes) }
            return body(UnsafeBufferPointer(start: bytes, count: size))
        }
    }
}

extension StorageError {
    /// Converts an SQLSTATE. `message` and `constraint` belong to the same failure.
    init(sqlState: String, message: String, constraint: String) {
        switch sqlState {
        case "23505": self = .unique(constraint)
        case "53100": self = .full
        // Out of memory or connections; a lock or a statement that took too long; rolled back in favour of
        // another.
        case "53000", "53200", "53300", "53400", "55P03", "57014", "40001", "40P01": self = .busy
        case "XX001", "XX002": self = .corrupt(message)
        // A table or column that a migration created, or that the SQL names by mistake.
        case "42P01", "42703": self = .corrupt("the schema is damaged, or the SQL is wrong: \(message)")
        case _ where sqlState.hasPrefix("23"): self = .constraint(message)
        case _ where sqlState.hasPrefix("22"), _ where sqlState.hasPrefix("54"): self = .rejected(message)
        // The server is shutting down, the role lacks a right, or the database is a read-only copy: an
        // operator can correct it.
        default: self = .io(message)
        }
    }
}
