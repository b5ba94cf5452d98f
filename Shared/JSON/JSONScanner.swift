/// Finds its way through text that has been validated. On any other text it stops early, within bounds.
struct JSONScanner {
    private let bytes: ArraySlice<UInt8>
    private var position: Int

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    /// The members of the object that starts here.
    mutating func members() -> [(name: ArraySlice<UInt8>, value: JSONValue)] {
        var found: [(name: ArraySlice<UInt8>, value: JSONValue)] = []
        position += 1
        while let byte = nextSignificant(), byte == UInt8(ascii: "\"") || byte == UInt8(ascii: ",") {
            if byte == UInt8(ascii: ",") {
                position += 1
                continue
            }
            let name = skipString()
            guard nextSignificant() == UInt8(ascii: ":") else { break }
            position += 1
            found.append((name.dropFirst().dropLast(), skipValue()))
        }
        return found
    }

    /// The values of the array that starts here.
    mutating func elements() -> [JSONValue] {
        var found: [JSONValue] = []
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

    private mutating func nextSignificant() -> UInt8? {
        while position < bytes.endIndex {
            let byte = bytes[position]
            if !byte.isJSONWhiteSpace { return byte }
            position += 1
        }
        return nil
    }

    /// From an opening quotation mark to past the closing one.
    private mutating func skipString() -> ArraySlice<UInt8> {
        let start = position
        bytes.withUnsafeBufferPointer { buffer in
            let base = bytes.startIndex
            var at = position - base + 1
            while at < buffer.count {
                let byte = buffer[at]
                if byte == UInt8(ascii: "\"") { break }
                at += byte == UInt8(ascii: "\\") ? 2 : 1
            }
            position = min(at + 1, buffer.count) + base
        }
        return bytes[start..<position]
    }

    private mutating func skipValue() -> JSONValue {
        guard let first = nextSignificant() else { return .null }
        let start = position
        switch first {
        case UInt8(ascii: "\""):
            return JSONValue(trusted: skipString())
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            var depth = 0
            while position < bytes.endIndex {
                switch bytes[position] {
                case UInt8(ascii: "\""):
                    _ = skipString()
                    continue
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    depth -= 1
                default:
                    break
                }
                position += 1
                if depth == 0 { break }
            }
        default:
            while position < bytes.endIndex, !bytes[position].endsJSONScalar { position += 1 }
            if position == start { position += 1 }
        }
        return JSONValue(trusted: bytes[start..<position])
    }

    /// Whether the name between quotation marks spells this one. Escapes are rare in names, so bytes come first.
    static func name(_ written: ArraySlice<UInt8>, is name: String) -> Bool {
        var name = name
        let same = name.withUTF8 { wanted in
            written.withUnsafeBufferPointer { $0.count == wanted.count && $0.elementsEqual(wanted) }
        }
        return same || (written.contains(UInt8(ascii: "\\")) && unescaped(written) == name)
    }

    /// The text between quotation marks with its escapes undone (RFC 8259, section 7).
    static func unescaped(_ written: ArraySlice<UInt8>) -> String {
        guard written.contains(UInt8(ascii: "\\")) else { return String(decoding: written, as: UTF8.self) }
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

    /// nil if it has a fraction or an exponent, or does not fit.
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
