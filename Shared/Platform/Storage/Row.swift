import ParlorJSON

/// A row of a result, with columns from 0.
///
/// Reading a column as a type that it does not have is a mistake in the SQL. Reading NULL as a value ends the process;
/// for columns that may be NULL, use the functions `…OrNil`. Other wrong types may pass unnoticed. For example, `int`
/// on a text that is no number ends the process with PostgreSQL, but not with SQLite.
public struct Row {
    let source: any RowSource

    public func isNull(_ column: Int) -> Bool { source.isNull(column) }

    public func int(_ column: Int) -> Int {
        requireValue(column)
        return source.int(column)
    }

    public func intOrNil(_ column: Int) -> Int? { isNull(column) ? nil : source.int(column) }

    /// Reads a Boolean, which is stored as 0 or 1.
    public func bool(_ column: Int) -> Bool { int(column) != 0 }

    public func text(_ column: Int) -> String {
        requireValue(column)
        return source.withBytes(column) { String(decoding: $0, as: UTF8.self) }
    }

    public func textOrNil(_ column: Int) -> String? { isNull(column) ? nil : text(column) }

    public func bytes(_ column: Int) -> [UInt8] {
        requireValue(column)
        return source.withBytes(column) { Array($0) }
    }

    public func bytesOrNil(_ column: Int) -> [UInt8]? { isNull(column) ? nil : bytes(column) }

    /// Reads JSON, which was validated before it was stored.
    public func json(_ column: Int) -> JSONValue { JSONValue(trusted: bytes(column)) }

    public func jsonOrNil(_ column: Int) -> JSONValue? { isNull(column) ? nil : json(column) }

    func requireValue(_ column: Int) {
        precondition(!source.isNull(column), "column \(column) is NULL, or there is none")
    }
}

/// A row in the form of its engine.
protocol RowSource {
    func isNull(_ column: Int) -> Bool
    func int(_ column: Int) -> Int
    func withBytes<T>(_ column: Int, _ body: (UnsafeBufferPointer<UInt8>) -> T) -> T
}
