/// One JSON value, as the bytes it was written in (RFC 8259, UTF-8, no white space around it).
///
/// Copying shares the bytes. Equality is equality of the text: `1.0` and `1` differ, and so do two orders of members.
public struct JSONValue: Sendable, Hashable {
    public enum Kind: Sendable {
        case object, array, string, number, bool, null
    }

    public let bytes: ArraySlice<UInt8>

    /// Checks a whole text and keeps it, without the white space around it.
    ///
    /// - Parameters:
    ///   - maxDepth: how deep arrays and objects may nest.
    ///   - boundsMarks: whether strings are refused that could not be compared or hashed in linear time (`CombiningMarks`). False for what
    ///     is known to have been stored before there was this bound.
    /// - Throws: `JSONError` at the first byte that is not JSON: bad grammar, bad UTF-8, half a surrogate pair, a raw
    ///   control character in a string, nesting deeper than `maxDepth`, or anything but white space after the value.
    public init(
        parsing bytes: ArraySlice<UInt8>, maxDepth: Int = JSONValue.defaultMaxDepth, boundsMarks: Bool = true
    ) throws(JSONError) {
        let range = try JSONValidator.validate(bytes, maxDepth: maxDepth, boundsMarks: boundsMarks)
        self.bytes = bytes[range]
    }

    public init(
        parsing bytes: [UInt8], maxDepth: Int = JSONValue.defaultMaxDepth, boundsMarks: Bool = true
    ) throws(JSONError) {
        try self.init(parsing: bytes[...], maxDepth: maxDepth, boundsMarks: boundsMarks)
    }

    public init(parsing text: String, maxDepth: Int = JSONValue.defaultMaxDepth) throws(JSONError) {
        try self.init(parsing: Array(text.utf8)[...], maxDepth: maxDepth)
    }

    /// Takes bytes that are known to be one JSON value: written by this process, or checked before.
    /// Reading members of anything else gives nonsense, but never reads out of bounds.
    public init(trusted bytes: ArraySlice<UInt8>) { self.bytes = bytes }
    public init(trusted bytes: [UInt8]) { self.bytes = bytes[...] }

    /// The same value in memory of its own: a part keeps alive all that it is a part of.
    public var detached: JSONValue { JSONValue(trusted: Array(bytes)) }

    /// Deeper than any client's content, shallower than what makes a recursive decoder fall over.
    public static let defaultMaxDepth = 512

    public static let null = JSONValue(trusted: Array("null".utf8))
    public static let emptyObject = JSONValue(trusted: Array("{}".utf8))
    public static let emptyArray = JSONValue(trusted: Array("[]".utf8))

    public init(_ text: String) { self = JSONWriter.value { $0.string(text) } }
    public init(_ number: Int) { self = JSONWriter.value { $0.number(number) } }
    public init(_ flag: Bool) { self = JSONWriter.value { $0.bool(flag) } }

    public var kind: Kind {
        switch bytes.first {
        case UInt8(ascii: "{"): .object
        case UInt8(ascii: "["): .array
        case UInt8(ascii: "\""): .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"): .bool
        case UInt8(ascii: "n"), nil: .null
        default: .number
        }
    }

    public var isNull: Bool { kind == .null }

    /// The text of a string, unescaped; nil for any other kind.
    public var string: String? {
        guard kind == .string else { return nil }
        return JSONScanner.unescaped(bytes.dropFirst().dropLast())
    }

    /// A number written without fraction or exponent that fits; nil otherwise.
    public var int: Int? {
        guard kind == .number else { return nil }
        return JSONScanner.integer(bytes)
    }

    /// Any finite number; nil for another kind and for one beyond a double (`1e400`).
    public var double: Double? {
        guard kind == .number, let value = Double(String(decoding: bytes, as: UTF8.self)), value.isFinite else {
            return nil
        }
        return value
    }

    public var bool: Bool? { kind == .bool ? bytes.first == UInt8(ascii: "t") : nil }

    public var object: JSONObject? { JSONObject(self) }

    /// The values of an array; nil for any other kind.
    public var array: [JSONValue]? {
        guard kind == .array else { return nil }
        return JSONScanner.elements(of: bytes).map { JSONValue(trusted: bytes.part($0)) }
    }

    /// The member of an object; nil if there is none, or if this is no object. For several, take `object` once.
    public subscript(name: String) -> JSONValue? {
        guard kind == .object else { return nil }
        return JSONScanner.value(named: name, in: bytes).map { JSONValue(trusted: bytes.part($0)) }
    }

    public var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension JSONValue: CustomStringConvertible {
    public var description: String { text }
}

/// Where a text stops being JSON, and why, in words for a log or a developer.
public struct JSONError: Error, Equatable, CustomStringConvertible {
    public let offset: Int
    public let reason: String

    public init(offset: Int, reason: String) {
        self.offset = offset
        self.reason = reason
    }

    public var description: String { "not JSON at byte \(offset): \(reason)" }
}

/// The members of a JSON object, in the order they were written. Of two members with one name the last one counts.
public struct JSONObject: Sendable {
    private let text: ArraySlice<UInt8>
    private let members: [JSONScanner.Member]

    /// nil if the value is no object.
    public init?(_ value: JSONValue) {
        guard value.kind == .object else { return nil }
        text = value.bytes
        members = JSONScanner.members(of: text)
    }

    public var isEmpty: Bool { members.isEmpty }
    public var names: [String] { members.map { JSONScanner.unescaped(text.part($0.name)) } }

    public subscript(name: String) -> JSONValue? {
        var name = name
        let found = name.withUTF8 { name in
            text.withUnsafeBufferPointer { text in
                // Objects here have a dozen members at most: a scan from the end is faster than a table.
                members.last { JSONScanner.spells(UnsafeBufferPointer(rebasing: text[$0.name]), name) }
            }
        }
        return found.map { JSONValue(trusted: text.part($0.value)) }
    }

    /// Every member with its unescaped name, in order.
    public var all: [(name: String, value: JSONValue)] {
        members.map { (JSONScanner.unescaped(text.part($0.name)), JSONValue(trusted: text.part($0.value))) }
    }
}
