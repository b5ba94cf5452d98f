/// Writes JSON by appending to bytes. It adds the commas; objects and arrays are closed when their closures
/// return.
///
///     let bytes = JSONWriter.bytes { json in
///         json.object {
///             $0.member("id", id)
///             $0.member("content", element.content)      // a JSONValue goes in as it is
///         }
///     }
public struct JSONWriter: ~Copyable {
    public private(set) var bytes: [UInt8]
    private var needsComma = false

    public init(reservingCapacity capacity: Int = 256) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    /// Creates a writer that appends to these bytes.
    public init(after prefix: consuming [UInt8]) { bytes = prefix }

    /// Returns all bytes.
    public consuming func finish() -> [UInt8] { bytes }

    public static func bytes(reservingCapacity capacity: Int = 256, _ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter(reservingCapacity: capacity)
        write(&writer)
        return writer.finish()
    }

    public static func value(reservingCapacity capacity: Int = 256, _ write: (inout JSONWriter) -> Void) -> JSONValue {
        JSONValue(trusted: bytes(reservingCapacity: capacity, write))
    }

    public static func object(reservingCapacity capacity: Int = 256, _ write: (inout JSONWriter) -> Void) -> JSONValue {
        value(reservingCapacity: capacity) { $0.object(write) }
    }

    // MARK: Values

    public mutating func object(_ write: (inout JSONWriter) -> Void) {
        open(UInt8(ascii: "{"))
        write(&self)
        close(UInt8(ascii: "}"))
    }

    public mutating func array(_ write: (inout JSONWriter) -> Void) {
        open(UInt8(ascii: "["))
        write(&self)
        close(UInt8(ascii: "]"))
    }

    @inlinable public mutating func array<S: Sequence>(of items: S, _ write: (inout JSONWriter, S.Element) -> Void) {
        array { json in for item in items { write(&json, item) } }
    }

    public mutating func string(_ text: String) {
        separate()
        appendQuoted(text)
    }

    public mutating func number(_ value: Int) {
        separate()
        bytes.append(contentsOf: String(value).utf8)
    }

    /// Writes a number. A whole number below 2^53 is written without `.0`. The value must be finite: JSON has no
    /// infinity and no NaN.
    public mutating func number(_ value: Double) {
        precondition(value.isFinite, "JSON has no \(value)")
        if value == value.rounded(), abs(value) < 9_007_199_254_740_992 {
            number(Int(value))
        } else {
            separate()
            bytes.append(contentsOf: "\(value)".utf8)
        }
    }

    public mutating func bool(_ value: Bool) {
        separate()
        bytes.append(contentsOf: (value ? "true" : "false").utf8)
    }

    public mutating func null() {
        separate()
        bytes.append(contentsOf: "null".utf8)
    }

    /// Writes a value as its bytes.
    public mutating func value(_ value: JSONValue) {
        separate()
        bytes.append(contentsOf: value.bytes)
    }

    // MARK: Members of an object

    /// Writes the name of a member. The next value that is written is the member's.
    public mutating func name(_ name: String) {
        separate()
        appendQuoted(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    public mutating func member(_ name: String, _ text: String) {
        self.name(name)
        string(text)
    }

    /// Writes a member; nil becomes null.
    public mutating func member(_ name: String, _ text: String?) {
        self.name(name)
        if let text { string(text) } else { null() }
    }

    public mutating func member(_ name: String, _ value: Int) {
        self.name(name)
        number(value)
    }

    public mutating func member(_ name: String, _ value: Bool) {
        self.name(name)
        bool(value)
    }

    public mutating func member(_ name: String, _ value: JSONValue) {
        self.name(name)
        self.value(value)
    }

    /// Writes a member; nil becomes null.
    public mutating func member(_ name: String, _ value: JSONValue?) {
        self.name(name)
        if let value { self.value(value) } else { null() }
    }

    /// Writes a member with a list of texts.
    @inlinable public mutating func member(_ name: String, _ texts: some Sequence<String>) {
        self.name(name)
        array(of: texts) { $0.string($1) }
    }

    public mutating func member(_ name: String, object write: (inout JSONWriter) -> Void) {
        self.name(name)
        object(write)
    }

    public mutating func member(_ name: String, array write: (inout JSONWriter) -> Void) {
        self.name(name)
        array(write)
    }

    /// Writes the members of another object, unchanged, among this one's. Writes nothing if the value is not an object.
    public mutating func members(of object: JSONValue) {
        guard object.bytes.first == UInt8(ascii: "{") else { return }
        let inner = object.bytes.dropFirst().dropLast()
        guard inner.contains(where: { !$0.isJSONWhiteSpace }) else { return }
        separate()
        bytes.append(contentsOf: inner)
    }

    // MARK: Bytes

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func appendQuoted(_ text: String) {
        var text = text
        bytes.append(UInt8(ascii: "\""))
        text.withUTF8 { utf8 in
            var start = 0
            while case let end = utf8.endOfPlainText(from: start, stoppingAtControlBytes: true), end < utf8.count {
                bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start..<end]))
                appendEscape(utf8[end])
                start = end + 1
            }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start...]))
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func appendEscape(_ byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x22, 0x5C: bytes.append(byte)
        case 10: bytes.append(UInt8(ascii: "n"))
        case 13: bytes.append(UInt8(ascii: "r"))
        case 9: bytes.append(UInt8(ascii: "t"))
        default:
            let digits = Array("0123456789abcdef".utf8)
            bytes.append(contentsOf: "u00".utf8)
            bytes.append(digits[Int(byte >> 4)])
            bytes.append(digits[Int(byte & 15)])
        }
    }
}
