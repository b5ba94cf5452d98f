import ParlorJSON

/// Iterates over the members of one JSON object without decoding them. It checks only what it needs to find
/// their ends: accepted text may still be invalid JSON.
struct LineScanner {
    private let line: UnsafeRawBufferPointer
    private var position = 0
    private var isFirst = true

    init(_ line: UnsafeRawBufferPointer) { self.line = line }

    mutating func open() throws(BusLineError) {
        try expect(UInt8(ascii: "{"), "a line is one JSON object")
    }

    /// Returns the range of the next member's name, and stops at its value. nil at the end of the object.
    mutating func nextName() throws(BusLineError) -> Range<Int>? {
        skipWhiteSpace()
        if position < line.count, line[position] == UInt8(ascii: "}") {
            position += 1
            skipWhiteSpace()
            guard position == line.count else { throw BusLineError(reason: "text after the object") }
            return nil
        }
        if !isFirst { try expect(UInt8(ascii: ","), "`,` or `}` is missing") }
        isFirst = false
        skipWhiteSpace()
        let name = try string()
        try expect(UInt8(ascii: ":"), "`:` is missing")
        skipWhiteSpace()
        return name
    }

    /// Reads a string and returns the range inside its quotation marks.
    mutating func string() throws(BusLineError) -> Range<Int> {
        guard position < line.count, line[position] == UInt8(ascii: "\"") else {
            throw BusLineError(reason: "a string is missing")
        }
        let start = position + 1
        let bytes = line.assumingMemoryBound(to: UInt8.self)
        var at = start
        while case let end = bytes.endOfPlainText(from: at, stoppingAtControlBytes: true), end < line.count {
            switch line[end] {
            case UInt8(ascii: "\""):
                position = end + 1
                return start..<end
            // Skip the escaped character, which does not end the string.
            case UInt8(ascii: "\\"): at = end + 2
            default: throw BusLineError(reason: "a control character in a string")
            }
        }
        throw BusLineError(reason: "an unterminated string")
    }

    /// Reads a whole number of at most eighteen digits, which fits every type used here.
    mutating func number() throws(BusLineError) -> UInt64 {
        let start = position
        var value: UInt64 = 0
        while position < line.count, line[position].isASCIIDigit {
            guard position - start < 18 else { throw BusLineError(reason: "a number is too large") }
            value = value * 10 + UInt64(line[position] - UInt8(ascii: "0"))
            position += 1
        }
        guard position > start, position < line.count, line[position].endsJSONScalar else {
            throw BusLineError(reason: "a whole number is missing")
        }
        return value
    }

    /// Skips any value and returns its range.
    mutating func value() throws(BusLineError) -> Range<Int> {
        let start = position
        var depth = 0
        while position < line.count {
            switch line[position] {
            case UInt8(ascii: "\""):
                _ = try string()
                if depth == 0 { return start..<position }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return try scalar(from: start) }
                depth -= 1
                if depth == 0 {
                    position += 1
                    return start..<position
                }
            case UInt8(ascii: ",") where depth == 0: return try scalar(from: start)
            case 0x20, 0x09, 0x0A, 0x0D: if depth == 0 { return try scalar(from: start) }
            case 0..<0x20: throw BusLineError(reason: "a control character")
            default: break
            }
            position += 1
        }
        throw BusLineError(reason: "a value without its end")
    }

    private func scalar(from start: Int) throws(BusLineError) -> Range<Int> {
        guard position > start else { throw BusLineError(reason: "a value is missing") }
        return start..<position
    }

    /// Returns the range up to the object's closing brace, which must end the line.
    mutating func rest() throws(BusLineError) -> Range<Int> {
        let start = position
        var end = line.count
        while end > start, line[end - 1].isJSONWhiteSpace { end -= 1 }
        guard end > start, line[end - 1] == UInt8(ascii: "}") else {
            throw BusLineError(reason: "the line does not end with `}`")
        }
        end -= 1
        while end > start, line[end - 1].isJSONWhiteSpace { end -= 1 }
        guard end > start else { throw BusLineError(reason: "`data` is missing its value") }
        position = line.count
        return start..<end
    }

    private mutating func skipWhiteSpace() {
        while position < line.count, line[position].isJSONWhiteSpace { position += 1 }
    }

    private mutating func expect(_ byte: UInt8, _ reason: String) throws(BusLineError) {
        skipWhiteSpace()
        guard position < line.count, line[position] == byte else { throw BusLineError(reason: reason) }
        position += 1
    }
}

extension UInt8 {
    /// A line of the bus has no newline. A message of a NATS server may have some, and often ends with one.
    @inline(__always) fileprivate var isJSONWhiteSpace: Bool {
        self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D
    }
    @inline(__always) fileprivate var isASCIIDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
    @inline(__always) fileprivate var endsJSONScalar: Bool {
        isJSONWhiteSpace || self == UInt8(ascii: ",") || self == UInt8(ascii: "}")
    }
}
