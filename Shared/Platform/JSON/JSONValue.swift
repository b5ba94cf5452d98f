/// A JSON value, stored as its text (RFC 8259, UTF-8, no white space around it).
///
/// Copies share the bytes. Two values are equal if their texts are equal: `1.0` and `1` differ, and so do objects
/// with the same members in another order.
public struct JSONValue: Sendable, Hashable {
    public enum Kind: Sendable {
        case object, array, string, number, bool, null
    }

    public let bytes: ArraySlice<UInt8>

    /// Validates a whole text and keeps it, without the white space around it.
    ///
    /// - Parameters:
    ///   - maxDepth: the limit for the nesting of arrays and objects.
    ///   - isBounded: true to refuse what other programs may not be able to read: strings that could not be compared or
    ///     hashed in linear time (`CombiningMarks`), and numbers beyond a double or of more than `maxNumberLength`
    ///     characters. False for text that was stored before these limits existed.
    /// - Throws: `JSONError` at the first byte that is not JSON: bad grammar, bad UTF-8, half a surrogate
    ///   pair, a raw control character in a string, nesting deeper than `maxDepth`, or anything but white
    ///   space after the value.
    public init(
        parsing bytes: ArraySlice<UInt8>, maxDepth: Int = JSONValue.defaultMaxDepth, isBounded: Bool = true
    ) throws(JSONError) {
        let range = try JSONValidator.validate(bytes, maxDepth: maxDepth, isBounded: isBounded)
        self.bytes = bytes[range]
    }

    public init(
        parsing bytes: [UInt8], maxDepth: Int = JSONValue.defaultMaxDepth, isBounded: Bool = true
    ) throws(JSONError) {
        try self.init(parsing: bytes[...], maxDepth: maxDepth, isBounded: isBounded)
    }

    public init(parsing text: String, maxDepth: Int = JSONValue.defaultMaxDepth) throws(JSONError) {
        try self.init(parsing: Array(text.utf8)[...], maxDepth: maxDepth)
    }

    /// Takes bytes that are known to be one JSON value: written by this process, or validated before. With
    /// other bytes, members are meaningless, but nothing is read out of bounds.
    public init(trusted bytes: ArraySlice<UInt8>) { self.bytes = bytes }
    public init(trusted bytes: [UInt8]) { self.bytes = bytes[...] }

    /// A copy of the value in memory of its own. Without it, a part of a value keeps the bytes of the whole value
    /// alive.
    public var detached: JSONValue { JSONValue(trusted: Array(bytes)) }

    /// The default limit of nesting: deeper than any client's content, and shallow enough for a recursive
    /// decoder.
    public static let defaultMaxDepth = 512

    /// The length limit of a number. Doubles need 25 characters; Python refuses integers of more than 4,300 digits.
    public static let maxNumberLength = 64

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

    /// The number if it is written without fraction or exponent and fits; nil otherwise.
    public var int: Int? {
        guard kind == .number else { return nil }
        return JSONScanner.integer(bytes)
    }

    /// The number, if it is finite; nil for any other kind, and for a number beyond a double (`1e400`).
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

    /// The first value of an array; nil if it has none, and for any other kind. The others are not looked at.
    public var firstElement: JSONValue? {
        guard kind == .array else { return nil }
        return JSONScanner.firstElement(of: bytes).map { JSONValue(trusted: bytes.part($0)) }
    }

    /// Returns the strings with this name that are members of the objects in an array; none for any other kind.
    public func strings(namedInElements name: StaticString) -> [String] {
        guard kind == .array else { return [] }
        return JSONScanner.strings(named: name, inElementsOf: bytes).compactMap {
            JSONValue(trusted: bytes.part($0)).string
        }
    }

    /// Returns the values of an array, each as it is read; nil for any other kind, and if one of them cannot be read.
    @inlinable public func list<Item>(of read: (JSONValue) -> Item?) -> [Item]? {
        guard let values = array else { return nil }
        let items = values.compactMap(read)
        return items.count == values.count ? items : nil
    }

    /// The member of an object; nil if there is none, or if this is not an object. To read several, take
    /// `object` once.
    public subscript(name: String) -> JSONValue? {
        guard kind == .object else { return nil }
        return JSONScanner.value(named: name, in: bytes).map { JSONValue(trusted: bytes.part($0)) }
    }

    public var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension JSONValue: CustomStringConvertible {
    public var description: String { text }
}

/// The position where a text stops being JSON, and the reason in words for a log or a developer.
public struct JSONError: Error, Equatable, CustomStringConvertible {
    public enum Cause: Sendable {
        case syntax
        /// Everything before `offset` is JSON, and the nesting is over the limit.
        case depth
        /// Everything before `offset` is JSON, but a string is refused. It has too many combining marks in a row, or
        /// half a surrogate pair as an escape, which the grammar of RFC 8259 permits (section 8.2).
        case text
        /// Everything before `offset` is JSON, and so is a number there, but it is too long or beyond a double.
        case number
    }

    public let offset: Int
    public let reason: String
    public let cause: Cause

    public init(offset: Int, reason: String, cause: Cause = .syntax) {
        self.offset = offset
        self.reason = reason
        self.cause = cause
    }

    public var description: String { "not JSON at byte \(offset): \(reason)" }
}

/// The members of a JSON object, in the order they were written. Of two members with one name the last one counts.
public struct JSONObject: Sendable {
    private let text: ArraySlice<UInt8>
    private let members: [JSONScanner.Member]

    /// Parses the members; nil if the value is not an object.
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
                // These objects have a dozen members at most: a scan from the end is faster than a
                // dictionary.
                members.last { JSONScanner.spells(UnsafeBufferPointer(rebasing: text[$0.name]), name) }
            }
        }
        return found.map { JSONValue(trusted: text.part($0.value)) }
    }

    /// The members with their unescaped names, in order.
    public var all: [(name: String, value: JSONValue)] {
        members.map { (JSONScanner.unescaped(text.part($0.name)), JSONValue(trusted: text.part($0.value))) }
    }
}
