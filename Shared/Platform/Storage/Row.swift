import JSON

/// A row of a result, its columns from 0. Asking a column for what it cannot be, NULL for text, is a mistake in the SQL
/// and ends the process: name what may be NULL with `…OrNil`.
public struct Row {
    let source: any RowSource

    public func isNull(_ column: Int) -> Bool { source.isNull(column) }

    public func int(_ column: Int) -> Int {
        requireValue(column)
        return source.int(column)
    }

    public func intOrNil(_ column: Int) -> Int? { isNull(column) ? nil : source.int(column) }

    /// Booleans are kept as 0 and 1.
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

    /// JSON that was checked before it was stored.
    public func json(_ column: Int) -> JSONValue { JSONValue(trusted: bytes(column)) }

    public func jsonOrNil(_ column: Int) -> JSONValue? { isNull(column) ? nil : json(column) }

    private func requireValue(_ column: Int) {
        precondition(!source.isNull(column), "column \(column) is NULL, or there is none")
    }
}

/// A row as its engine holds it.
protocol RowSource {
    func isNull(_ column: Int) -> Bool
    func int(_ column: Int) -> Int
    func withBytes<T>(_ column: Int, _ body: (UnsafeBufferPointer<UInt8>) -> T) -> T
}
