import ParlorJSON

/// A value as both engines store it. Times are integers, in milliseconds since 1970, UTC.
public enum SQLValue: Sendable, Equatable {
    case null
    case int(Int)
    /// Text. Text with a NUL causes `StorageError.unstorableText`, as PostgreSQL cannot store it.
    case text(String)
    case bytes([UInt8])
    /// JSON, stored as its text, byte by byte.
    case json(JSONValue)

    /// Returns a list as one parameter: `WHERE id IN (SELECT value FROM json_each($1))`. So one statement
    /// serves every length.
    @inlinable
    public static func list(_ items: some Sequence<String>) -> SQLValue {
        .json(JSONWriter.value { $0.array(of: items) { $0.string($1) } })
    }
}

/// A type whose values can be parameters.
public protocol SQLConvertible {
    var sqlValue: SQLValue { get }
}

extension SQLValue: SQLConvertible {
    public var sqlValue: SQLValue { self }
}

extension Int: SQLConvertible {
    public var sqlValue: SQLValue { .int(self) }
}

extension Bool: SQLConvertible {
    public var sqlValue: SQLValue { .int(self ? 1 : 0) }
}

extension String: SQLConvertible {
    public var sqlValue: SQLValue { .text(self) }
}

extension [UInt8]: SQLConvertible {
    public var sqlValue: SQLValue { .bytes(self) }
}

extension JSONValue: SQLConvertible {
    public var sqlValue: SQLValue { .json(self) }
}

extension Optional: SQLConvertible where Wrapped: SQLConvertible {
    public var sqlValue: SQLValue { self?.sqlValue ?? .null }
}
