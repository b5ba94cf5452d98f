import ParlorJSON

/// The short form of an id, for rows of which there are many: the 16 bytes of a UUID (RFC 9562, section 4), 17 for one in
/// upper case, and for any other text its UTF-8 with a NUL at the end, so that no two ids have one form.
///
/// UUIDs of one case are ordered as their texts are.
enum ShortID {
    private static let length = 16
    private static let isUpperCase: UInt8 = 1
    private static let upperCaseDigits = UInt8(ascii: "A")...UInt8(ascii: "F")
    private static let lowerCaseDigits = UInt8(ascii: "a")...UInt8(ascii: "f")

    static func encode(_ id: String) -> [UInt8] {
        var id = id
        return id.withUTF8 { text in
            if let bytes = uuid(text) { return bytes }
            // With one NUL, a text of 15 bytes would look like a UUID.
            return Array(text) + (text.count == length - 1 ? [0, 0] : [0])
        }
    }

    static func decode(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        if bytes.count == length { return hexadecimal(bytes, hasHyphens: true) }
        if bytes.count == length + 1, bytes.last == isUpperCase {
            return hexadecimal(bytes.dropLast(), hasHyphens: true, digits: "0123456789ABCDEF")
        }
        return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }

    /// Returns the bytes of a UUID whose letters have one case; nil for any other text.
    private static func uuid(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard text.count == 36, text.indices.allSatisfy({ isHyphen($0) == (text[$0] == UInt8(ascii: "-")) }) else {
            return nil
        }
        let isUpper = text.contains(where: upperCaseDigits.contains)
        if isUpper, text.contains(where: lowerCaseDigits.contains) { return nil }
        return bytes(ofDigits: text.lazy.filter { $0 != UInt8(ascii: "-") }).map { isUpper ? $0 + [isUpperCase] : $0 }
    }

    /// Returns the bytes of hexadecimal digits; nil if there is anything else, or half a byte.
    static func bytes(ofDigits digits: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(length + 1)
        var high: UInt8?
        for digit in digits {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case lowerCaseDigits: value = digit - UInt8(ascii: "a") + 10
            case upperCaseDigits: value = digit - UInt8(ascii: "A") + 10
            default: return nil
            }
            if let first = high { bytes.append(first << 4 | value) }
            high = high == nil ? value : nil
        }
        return high == nil ? bytes : nil
    }

    static func hexadecimal(
        _ bytes: some Collection<UInt8>, hasHyphens: Bool = false, digits: StaticString = "0123456789abcdef"
    ) -> String {
        String(unsafeUninitializedCapacity: 2 * bytes.count + 4) { text in
            var index = 0
            for byte in bytes {
                if hasHyphens, isHyphen(index) {
                    text[index] = UInt8(ascii: "-")
                    index += 1
                }
                text[index] = digits.utf8Start[Int(byte >> 4)]
                text[index + 1] = digits.utf8Start[Int(byte & 15)]
                index += 2
            }
            return index
        }
    }

    private static func isHyphen(_ index: Int) -> Bool { index == 8 || index == 13 || index == 18 || index == 23 }
}

extension SQLValue {
    /// Returns an id in its short form, for a `BLOB`; `Row.id` reads it. The id has no NUL.
    public static func id(_ id: String) -> SQLValue { .bytes(ShortID.encode(id)) }

    /// Returns ids as one parameter: `WHERE id IN (SELECT unhex(value) FROM json_each($1))`.
    public static func ids(_ ids: some Sequence<String>) -> SQLValue {
        .list(ids.lazy.map { ShortID.hexadecimal(ShortID.encode($0)) })
    }
}

extension Row {
    /// Reads an id that was stored with `SQLValue.id`.
    public func id(_ column: Int) -> String {
        requireValue(column)
        return source.withBytes(column, ShortID.decode)
    }

    public func idOrNil(_ column: Int) -> String? { isNull(column) ? nil : id(column) }
}
