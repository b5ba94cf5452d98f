/// Navigates text that has been validated. On any other text it stops early, within bounds.
///
/// It returns ranges, counted from the start of the text, instead of slices: each slice would cost a retain and a
/// release, and an object has a dozen members.
struct JSONScanner {
    struct Member {
        /// The range between the quotation marks.
        let name: Range<Int>
        let value: Range<Int>
    }

    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    private init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    /// Returns the members of a text that is an object.
    static func members(of text: ArraySlice<UInt8>) -> [Member] {
        text.withUnsafeBufferPointer { buffer in
            var scanner = JSONScanner(buffer)
            return scanner.members()
        }
    }

    /// Returns the values of a text that is an array.
    static func elements(of text: ArraySlice<UInt8>) -> [Range<Int>] {
        text.withUnsafeBufferPointer { buffer in
            var scanner = JSONScanner(buffer)
            return scanner.elements()
        }
    }

    /// Returns the range of the value of the last member with this name, in a text that is an object.
    static func value(named name: String, in text: ArraySlice<UInt8>) -> Range<Int>? {
        var name = name
        return name.withUTF8 { name in
            text.withUnsafeBufferPointer { buffer in
                var scanner = JSONScanner(buffer)
                scanner.position += 1
                var found: Range<Int>?
                while let member = scanner.nextMember() {
                    if spells(UnsafeBufferPointer(rebasing: buffer[member.name]), name) { found = member.value }
                }
                return found
            }
        }
    }

    /// Returns the range of the first value of a text that is an array; nil if it has none.
    static func firstElement(of text: ArraySlice<UInt8>) -> Range<Int>? {
        text.withUnsafeBufferPointer { buffer in
            var scanner = JSONScanner(buffer)
            scanner.position += 1
            guard let byte = scanner.nextSignificant(), byte != UInt8(ascii: "]") else { return nil }
            return scanner.skipValue()
        }
    }

    /// Returns the ranges of the strings with this name that are members of the objects in an array.
    static func strings(named name: StaticString, inElementsOf text: ArraySlice<UInt8>) -> [Range<Int>] {
        let name = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        return text.withUnsafeBufferPointer { buffer in
            var scanner = JSONScanner(buffer)
            var found: [Range<Int>] = []
            scanner.position += 1
            while let byte = scanner.nextSignificant(), byte != UInt8(ascii: "]") {
                if byte == UInt8(ascii: "{") {
                    scanner.position += 1
                    while let member = scanner.nextMember() {
                        let isString = member.value.first.map { buffer[$0] == UInt8(ascii: "\"") } ?? false
                        if isString, spells(UnsafeBufferPointer(rebasing: buffer[member.name]), name) {
                            found.append(member.value)
                        }
                    }
                    // The brace.
                    scanner.position += 1
                } else if byte == UInt8(ascii: ",") {
                    scanner.position += 1
                } else {
                    _ = scanner.skipValue()
                }
            }
            return found
        }
    }

    /// Returns true if the text between quotation marks is this name. Escapes are rare in names, so the bytes are
    /// compared first.
    static func spells(_ written: UnsafeBufferPointer<UInt8>, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        if written.count == name.count { return written.elementsEqual(name) }
        // An escape is longer than the character that it encodes.
        guard written.count > name.count, written.contains(UInt8(ascii: "\\")) else { return false }
        // Compare bytes again, not strings: strings with the same normal form are equal in Swift, but are two names.
        return unescaped(Array(written)[...]).utf8.elementsEqual(name)
    }

    private mutating func members() -> [Member] {
        var found: [Member] = []
        found.reserveCapacity(Self.usualMembers)
        position += 1
        while let member = nextMember() { found.append(member) }
        return found
    }

    private mutating func nextMember() -> Member? {
        while let byte = nextSignificant(), byte == UInt8(ascii: "\"") || byte == UInt8(ascii: ",") {
            if byte == UInt8(ascii: ",") {
                position += 1
                continue
            }
            let start = position + 1
            skipString()
            let name = start..<max(position - 1, start)
            guard nextSignificant() == UInt8(ascii: ":") else { break }
            position += 1
            return Member(name: name, value: skipValue())
        }
        return nil
    }

    private mutating func elements() -> [Range<Int>] {
        var found: [Range<Int>] = []
        found.reserveCapacity(Self.usualElements)
        position += 1
        while let byte = nextSignificant(), byte != UInt8(ascii: "]") {
            if byte == UInt8(ascii: ",") {
                position += 1
                continue
            }
            found.append(skipValue())
        }
        return found
    }

    /// The capacities with which most objects and lists need one allocation.
    private static let usualMembers = 12
    private static let usualElements = 4

    private mutating func nextSignificant() -> UInt8? {
        while position < bytes.count {
            let byte = bytes[position]
            if !byte.isJSONWhiteSpace { return byte }
            position += 1
        }
        return nil
    }

    /// Skips a string, from its opening quotation mark to after its closing one.
    private mutating func skipString() {
        var at = position + 1
        while case let end = bytes.endOfPlainText(from: at, stoppingAtControlBytes: false), end < bytes.count {
            at = end + 1
            if bytes[end] == UInt8(ascii: "\"") {
                position = at
                return
            }
            // Skip the escaped character, which does not end the string.
            at += 1
        }
        position = bytes.count
    }

    /// Skips the next value and returns its range, which is empty at the end of the text.
    private mutating func skipValue() -> Range<Int> {
        guard let first = nextSignificant() else { return position..<position }
        let start = position
        switch first {
        case UInt8(ascii: "\""): skipString()
        case UInt8(ascii: "{"), UInt8(ascii: "["): skipContainer()
        default:
            while position < bytes.count, !bytes[position].endsJSONScalar { position += 1 }
            if position == start { position += 1 }
        }
        return start..<position
    }

    private mutating func skipContainer() {
        var depth = 0
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                skipString()
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            position += 1
            if depth == 0 { return }
        }
    }

    /// Returns the text between quotation marks with its escapes decoded (RFC 8259, section 7).
    static func unescaped(_ written: ArraySlice<UInt8>) -> String {
        let plainEnd = written.withUnsafeBufferPointer { $0.endOfPlainText(from: 0, stoppingAtControlBytes: false) }
        guard plainEnd < written.count else { return String(decoding: written, as: UTF8.self) }
        var plain: [UInt8] = []
        plain.reserveCapacity(written.count)
        var rest = written[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let escape = rest.popFirst() else {
                plain.append(byte)
                continue
            }
            switch escape {
            case UInt8(ascii: "n"): plain.append(10)
            case UInt8(ascii: "t"): plain.append(9)
            case UInt8(ascii: "r"): plain.append(13)
            case UInt8(ascii: "b"): plain.append(8)
            case UInt8(ascii: "f"): plain.append(12)
            case UInt8(ascii: "u"):
                var unit = UInt32(hexUnit(&rest))
                if (0xD800..<0xDC00).contains(unit), rest.starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) {
                    rest = rest.dropFirst(2)
                    unit = 0x10000 + ((unit - 0xD800) << 10) + (UInt32(hexUnit(&rest)) &- 0xDC00) & 0x3FF
                }
                plain.append(contentsOf: String(Unicode.Scalar(unit) ?? "\u{FFFD}").utf8)
            default: plain.append(escape)
            }
        }
        return String(decoding: plain, as: UTF8.self)
    }

    private static func hexUnit(_ rest: inout ArraySlice<UInt8>) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 { unit = unit << 4 | UInt16(rest.popFirst()?.hexDigit ?? 0) }
        return unit
    }

    /// Parses an integer; nil if it has a fraction or an exponent, or does not fit.
    static func integer(_ written: ArraySlice<UInt8>) -> Int? {
        let negative = written.first == UInt8(ascii: "-")
        let digits = negative ? written.dropFirst() : written
        guard !digits.isEmpty else { return nil }
        var value = 0
        for byte in digits {
            guard byte.isASCIIDigit else { return nil }
            let digit = Int(byte - UInt8(ascii: "0"))
            let (tens, over) = value.multipliedReportingOverflow(by: 10)
            let (sum, overToo) =
                negative ? tens.subtractingReportingOverflow(digit) : tens.addingReportingOverflow(digit)
            guard !over, !overToo else { return nil }
            value = sum
        }
        return value
    }
}

extension ArraySlice<UInt8> {
    /// Returns the bytes at a range that the scanner found.
    func part(_ range: Range<Int>) -> ArraySlice<UInt8> {
        self[(startIndex + range.lowerBound)..<(startIndex + range.upperBound)]
    }
}

extension UInt8 {
    @inline(__always) var isJSONWhiteSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }
    @inline(__always) var isASCIIDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
    @inline(__always) var endsJSONScalar: Bool {
        isJSONWhiteSpace || self == UInt8(ascii: ",") || self == UInt8(ascii: "}") || self == UInt8(ascii: "]")
    }
    var hexDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
