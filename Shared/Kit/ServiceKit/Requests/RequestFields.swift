import ParlorContracts
import ParlorJSON

/// The fields of a request, read one by one. What a client sends is declared as `Fields`.
///
/// The errors are the contract's: a wrong type is `malformed_request`; a missing or out-of-range value is
/// `invalid_field`, and the message names it. A null counts as if the field were left out, except for `isGiven`.
public struct RequestFields: Sendable {
    private let object: JSONObject

    /// Takes the fields from the data of a request.
    ///
    /// - Throws: `malformed_request` if the data is not an object.
    public init(_ data: JSONValue) throws(ServiceError) {
        guard let object = data.object else {
            throw ServiceError(.malformedRequest, "A request has to be a JSON object.")
        }
        self.object = object
    }

    /// The value of a field; nil if it is absent or null.
    public subscript(name: String) -> JSONValue? {
        guard let value = object[name], !value.isNull else { return nil }
        return value
    }

    /// Returns true if the field is present, even as null.
    public func isGiven(_ name: String) -> Bool { object[name] != nil }

    public func optionalString(_ name: String) throws(ServiceError) -> String? {
        guard let value = self[name] else { return nil }
        guard let string = value.string else { throw .wrongType(name, "a string") }
        return string
    }

    public func string(_ name: String) throws(ServiceError) -> String {
        guard let string = try optionalString(name) else { throw .missing(name) }
        return string
    }

    /// Returns an id that a client sent.
    ///
    /// - Throws: `missing` for a text that cannot be an id: for the client it is like an id that does not
    ///   exist.
    public func id(_ name: String, orThrow missing: ServiceError) throws(ServiceError) -> String {
        let id = try string(name)
        guard id.mayBeID else { throw missing }
        return id
    }

    /// Returns the cursor, which is the id at the end of the previous page.
    ///
    /// - Throws: `malformed_request` for a text that cannot be one.
    public func optionalCursor() throws(ServiceError) -> String? {
        guard let cursor = try optionalString("cursor") else { return nil }
        guard cursor.mayBeID else { throw .badCursor }
        return cursor
    }

    public func optionalBool(_ name: String) throws(ServiceError) -> Bool? {
        guard let value = self[name] else { return nil }
        guard let bool = value.bool else { throw .wrongType(name, "true or false") }
        return bool
    }

    public func bool(_ name: String) throws(ServiceError) -> Bool {
        guard let bool = try optionalBool(name) else { throw .missing(name) }
        return bool
    }

    public func optionalInt(_ name: String) throws(ServiceError) -> Int? {
        guard let value = self[name] else { return nil }
        // Some languages write each number with a fraction: `1.0`.
        guard let int = value.int ?? value.double.flatMap(Int.init(exactly:)) else {
            throw .wrongType(name, "a whole number")
        }
        return int
    }

    public func integer(_ name: String) throws(ServiceError) -> Int {
        guard let int = try optionalInt(name) else { throw .missing(name) }
        return int
    }

    public func strings(_ name: String, count: ClosedRange<Int>) throws(ServiceError) -> [String] {
        guard let value = self[name] else { throw .missing(name) }
        guard let strings = value.list(of: \.string) else { throw .wrongType(name, "a list of strings") }
        guard count.contains(strings.count) else {
            throw .invalid(name, "has to have \(count.lowerBound) to \(count.upperBound) items")
        }
        return strings
    }

    // MARK: Values of a query, which are texts

    /// Returns a whole number that is given as text, as in a query; nil if it is missing.
    ///
    /// - Throws: `malformed_request` for anything but digits with an optional minus, and for a number that is
    ///   too large.
    public func queryInt(_ name: String) throws(ServiceError) -> Int? {
        guard let text = try optionalString(name) else { return nil }
        guard let number = Int(text), !text.hasPrefix("+") else { throw .wrongType(name, "a whole number") }
        return number
    }

    /// Returns the query's `limit`. A value out of range is clamped, as the contract requires.
    public func queryLimit(standard: Int, max: Int) throws(ServiceError) -> Int {
        // A number that is too large for an Int is out of range like any other.
        if let text = try optionalString("limit"), Int(text) == nil {
            let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
            if !digits.isEmpty, digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
                return text.hasPrefix("-") ? 1 : max
            }
        }
        return min(Swift.max(try queryInt("limit") ?? standard, 1), max)
    }

    // MARK: Text

    /// Returns text that a person wrote. Control characters except tab, newline and carriage return are
    /// refused.
    ///
    /// - Parameters:
    ///   - length: the permitted length in Unicode scalars, after trimming.
    ///   - trimmed: true to remove white space at the ends.
    public func optionalText(
        _ name: String, length: ClosedRange<Int>, trimmed: Bool
    ) throws(ServiceError) -> String? {
        // Do not decode a text that is certainly too long: decoding and checking a megabyte takes ten milliseconds.
        if let value = object[name], value.kind == .string, value.bytes.count > Self.maxBytes(of: length) {
            guard trimmed, let given = Self.shortString(value, upTo: Self.maxBytes(of: length)) else {
                throw Self.wrongLength(name, length)
            }
            return try Self.check(given, name, length: length, trimmed: trimmed)
        }
        guard let given = try optionalString(name) else { return nil }
        return try Self.check(given, name, length: length, trimmed: trimmed)
    }

    public func text(_ name: String, length: ClosedRange<Int>, trimmed: Bool) throws(ServiceError) -> String {
        guard let text = try optionalText(name, length: length, trimmed: trimmed) else { throw .missing(name) }
        return text
    }

    private static func check(
        _ given: String, _ name: String, length: ClosedRange<Int>, trimmed: Bool
    ) throws(ServiceError) -> String {
        guard !given.hasForbiddenControls else { throw .invalid(name, "has control characters in it") }
        let text = trimmed ? given.trimmed : given
        guard length.contains(text.scalarCount) else { throw wrongLength(name, length) }
        return text
    }

    private static func wrongLength(_ name: String, _ length: ClosedRange<Int>) -> ServiceError {
        .invalid(name, "has to have \(length.lowerBound) to \(length.upperBound) characters")
    }

    /// The longest form of a character: twelve bytes, as two escapes.
    private static let maxBytesOfCharacter = 12
    /// The bytes allowed for the quotes, and for white space at the ends of a text if that white space is not ASCII.
    private static let maxBytesAround = 8192

    private static func maxBytes(of length: ClosedRange<Int>) -> Int {
        length.upperBound * maxBytesOfCharacter + maxBytesAround
    }

    /// Decodes a string without most of the ASCII white space around it; nil if the rest has more than `maxBytes`.
    private static func shortString(_ value: JSONValue, upTo maxBytes: Int) -> String? {
        let (quote, backslash, space) = (UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: " "))
        let isEscapedSpace = { (letter: UInt8?) in
            letter == UInt8(ascii: "n") || letter == UInt8(ascii: "r") || letter == UInt8(ascii: "t")
        }
        var text = value.bytes.dropFirst().dropLast()
        while true {
            if text.first == space {
                text = text.dropFirst()
            } else if text.first == backslash, isEscapedSpace(text.dropFirst().first) {
                text = text.dropFirst(2)
            } else {
                break
            }
        }
        while true {
            if text.last == space {
                text = text.dropLast()
            } else if isEscapedSpace(text.last),
                !text.dropLast().reversed().prefix(while: { $0 == backslash }).count.isMultiple(of: 2)
            {
                text = text.dropLast(2)
            } else {
                break
            }
        }
        guard text.count <= maxBytes else { return nil }
        return try? JSONValue(parsing: [quote] + text + [quote]).string  // a part of a valid string is one, too
    }
}

extension String {
    /// The text without Unicode white space at either end.
    public var trimmed: String {
        let scalars = unicodeScalars
        guard let first = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
            let last = scalars.lastIndex(where: { !$0.properties.isWhitespace })
        else { return "" }
        if first == scalars.startIndex, scalars.index(after: last) == scalars.endIndex { return self }
        return String(scalars[first...last])
    }

    /// The number of Unicode scalars, counted as bytes that are not continuation bytes.
    fileprivate var scalarCount: Int { utf8.count { $0 & 0xC0 != 0x80 } }

    /// True if the text may be an id. Ids are opaque, and another issuer's may be long, but none has control
    /// characters, which storage may reject.
    public var mayBeID: Bool { !hasForbiddenControls }

    /// True if the text has C0 or C1 control characters or DEL, except tab, newline and carriage return.
    public var hasForbiddenControls: Bool {
        var previous: UInt8 = 0
        return utf8.contains { byte in
            defer { previous = byte }
            return switch byte {
            case 9, 10, 13: false
            case 0..<32, 0x7F: true
            // C1 is C2 80 to C2 9F.
            case 0x80..<0xA0: previous == 0xC2
            default: false
            }
        }
    }
}
