import ParlorText

/// Checks a text against RFC 8259, in one pass and without recursion: nesting takes a bit for each level, and
/// no stack.
struct JSONValidator {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let maxDepth: Int
    private let isBounded: Bool
    private var position = 0
    private var levels = Levels()
    private var marks = CombiningMarks()

    /// Returns the range of the value in `bytes`, without the white space around it.
    static func validate(
        _ bytes: ArraySlice<UInt8>, maxDepth: Int, isBounded: Bool
    ) throws(JSONError) -> Range<Int> {
        let result: Result<Range<Int>, JSONError> = bytes.withUnsafeBufferPointer { buffer in
            var validator = JSONValidator(bytes: buffer, maxDepth: maxDepth, isBounded: isBounded)
            do throws(JSONError) {
                return .success(try validator.document())
            } catch {
                return .failure(error)
            }
        }
        let range = try result.get()
        return range.lowerBound + bytes.startIndex..<range.upperBound + bytes.startIndex
    }

    private init(bytes: UnsafeBufferPointer<UInt8>, maxDepth: Int, isBounded: Bool) {
        self.bytes = bytes
        self.maxDepth = maxDepth
        self.isBounded = isBounded
    }

    private mutating func document() throws(JSONError) -> Range<Int> {
        skipWhiteSpace()
        let start = position
        try value()
        let end = position
        skipWhiteSpace()
        guard position == bytes.count else { throw failure("text after the value") }
        return start..<end
    }

    private func failure(_ reason: String, _ cause: JSONError.Cause = .syntax) -> JSONError {
        JSONError(offset: position, reason: reason, cause: cause)
    }

    private var halfPair: JSONError { failure("half a surrogate pair", .text) }

    @inline(__always) private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    @inline(__always) private mutating func skipWhiteSpace() {
        while position < bytes.count, bytes[position].isJSONWhiteSpace { position += 1 }
    }

    /// Validates one value, with `levels` as the stack of its containers.
    private mutating func value() throws(JSONError) {
        repeat {
            switch current {
            case UInt8(ascii: "{"):
                try open(object: true)
                if current == UInt8(ascii: "}") { break }
                try memberName()
                continue
            case UInt8(ascii: "["):
                try open(object: false)
                if current == UInt8(ascii: "]") { break }
                continue
            case UInt8(ascii: "\""): try string()
            case UInt8(ascii: "t"): try literal("true")
            case UInt8(ascii: "f"): try literal("false")
            case UInt8(ascii: "n"): try literal("null")
            case .some(UInt8(ascii: "-")), .some(UInt8(ascii: "0")...UInt8(ascii: "9")): try number()
            default: throw failure("a value is missing")
            }
            try afterValue()
        } while levels.count > 0
    }

    private mutating func open(object: Bool) throws(JSONError) {
        guard levels.count < maxDepth else {
            throw failure("nested deeper than \(maxDepth)", .depth)
        }
        levels.push(isObject: object)
        position += 1
        skipWhiteSpace()
    }

    /// Closes the containers that end here, and moves to the next value, or past the outermost container.
    private mutating func afterValue() throws(JSONError) {
        while levels.count > 0 {
            let object = levels.isObject
            skipWhiteSpace()
            switch current {
            case UInt8(ascii: ","):
                position += 1
                skipWhiteSpace()
                if object { try memberName() }
                return
            case UInt8(ascii: "}") where object, UInt8(ascii: "]") where !object:
                position += 1
                levels.pop()
            default:
                throw failure(object ? "`,` or `}` is missing" : "`,` or `]` is missing")
            }
        }
    }

    private mutating func memberName() throws(JSONError) {
        guard current == UInt8(ascii: "\"") else { throw failure("a member's name is missing") }
        try string()
        skipWhiteSpace()
        guard current == UInt8(ascii: ":") else { throw failure("`:` is missing") }
        position += 1
        skipWhiteSpace()
    }

    private mutating func literal(_ word: StaticString) throws(JSONError) {
        let length = word.utf8CodeUnitCount
        guard bytes.count - position >= length else { throw failure("not a value") }
        for offset in 0..<length where bytes[position + offset] != word.utf8Start[offset] {
            throw failure("not a value")
        }
        position += length
    }

    private mutating func digits() throws(JSONError) {
        guard let byte = current, byte.isASCIIDigit else { throw failure("a digit is missing") }
        while let byte = current, byte.isASCIIDigit { position += 1 }
    }

    private mutating func number() throws(JSONError) {
        let start = position
        var hasExponent = false
        if current == UInt8(ascii: "-") { position += 1 }
        if current == UInt8(ascii: "0") { position += 1 } else { try digits() }
        if current == UInt8(ascii: ".") {
            position += 1
            try digits()
        }
        if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
            hasExponent = true
            position += 1
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { position += 1 }
            try digits()
        }
        if let byte = current, !byte.endsJSONScalar { throw failure("not a number") }
        guard isBounded else { return }
        let text = bytes[start..<position]
        guard text.count <= JSONValue.maxNumberLength else {
            throw failure("a number of more than \(JSONValue.maxNumberLength) characters", .number)
        }
        // Without an exponent, a number of that length is finite.
        guard !hasExponent || Double(String(decoding: text, as: UTF8.self))?.isFinite == true else {
            throw failure("a number beyond a double", .number)
        }
    }

    private mutating func string() throws(JSONError) {
        position += 1
        marks.reset()
        while true {
            let end = bytes.endOfPlainText(from: position, stoppingAtControlBytes: true, orBeyondASCII: true)
            if end > position { marks.reset() }
            position = end
            guard let byte = current else { break }
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return
            case UInt8(ascii: "\\"): try escape()
            case 0x80...: while let byte = current, byte >= 0x80 { try multibyte(byte) }
            default: throw failure("a control character in a string")
            }
        }
        throw failure("an unterminated string")
    }

    private mutating func escape() throws(JSONError) {
        position += 1
        switch current {
        case UInt8(ascii: "u"):
            let unit = try hexUnit()
            if (0xDC00..<0xE000).contains(unit) { throw halfPair }
            guard (0xD800..<0xDC00).contains(unit) else { return try count(UInt32(unit)) }
            guard current == UInt8(ascii: "\\"), position + 1 < bytes.count, bytes[position + 1] == UInt8(ascii: "u")
            else { throw halfPair }
            position += 1
            let low = try hexUnit()
            guard (0xDC00..<0xE000).contains(low) else { throw halfPair }
            try count(0x10000 + (UInt32(unit) - 0xD800) << 10 + UInt32(low) - 0xDC00)
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 1
            marks.reset()
        default: throw failure("an unknown escape")
        }
    }

    /// Reads the four digits after the `u` at the current position.
    private mutating func hexUnit() throws(JSONError) -> UInt16 {
        guard bytes.count - position > 4 else { throw failure("an escape without its digits") }
        var unit: UInt16 = 0
        for offset in 1...4 {
            guard let digit = bytes[position + offset].hexDigit else { throw failure("an escape without its digits") }
            unit = unit << 4 | UInt16(digit)
        }
        position += 5
        return unit
    }

    /// Validates a scalar of two to four bytes by the table of RFC 3629, section 4: no overlong forms, no
    /// surrogates.
    private mutating func multibyte(_ first: UInt8) throws(JSONError) {
        let (length, low, high): (Int, UInt8, UInt8) =
            switch first {
            case 0xC2...0xDF: (2, 0x80, 0xBF)
            case 0xE0: (3, 0xA0, 0xBF)
            case 0xED: (3, 0x80, 0x9F)
            case 0xE1...0xEF: (3, 0x80, 0xBF)
            case 0xF0: (4, 0x90, 0xBF)
            case 0xF1...0xF3: (4, 0x80, 0xBF)
            case 0xF4: (4, 0x80, 0x8F)
            default: (0, 0, 0)
            }
        guard length > 0, bytes.count - position >= length, (low...high).contains(bytes[position + 1]) else {
            throw failure("not UTF-8")
        }
        var scalar = (UInt32(first) & 0x7F >> UInt32(length)) << 6 | UInt32(bytes[position + 1]) & 0x3F
        for offset in 2..<max(length, 2) {
            let byte = bytes[position + offset]
            guard byte & 0xC0 == 0x80 else { throw failure("not UTF-8") }
            scalar = scalar << 6 | UInt32(byte) & 0x3F
        }
        try count(scalar)
        position += length
    }

    private mutating func count(_ scalar: UInt32) throws(JSONError) {
        guard isBounded, !marks.accept(scalar) else { return }
        throw failure("more than \(CombiningMarks.maxInARow) combining marks in a row", .text)
    }
}

/// The open containers, with one bit for each: 1 for an object. The innermost ones, at most 64, are in one word.
private struct Levels {
    private(set) var count = 0
    private var innermost: UInt64 = 0
    private var outer: [UInt64] = []

    /// True if the innermost container is an object.
    @inline(__always) var isObject: Bool { innermost & 1 == 1 }

    @inline(__always) mutating func push(isObject: Bool) {
        if count > 0, count.isMultiple(of: 64) {
            outer.append(innermost)
            innermost = 0
        }
        innermost = innermost << 1 | (isObject ? 1 : 0)
        count += 1
    }

    @inline(__always) mutating func pop() {
        count -= 1
        innermost >>= 1
        if count > 0, count.isMultiple(of: 64) { innermost = outer.removeLast() }
    }
}
