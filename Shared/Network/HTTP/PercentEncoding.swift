import Text

/// Escapes of RFC 3986, section 2.1.
enum PercentEncoding {
    /// nil if a `%` is not followed by two hexadecimal digits, if the bytes are not UTF-8, or have too many combining marks in a row.
    static func decode(_ encoded: ArraySlice<UInt8>, plusIsSpace: Bool = false) -> String? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(encoded.count)
        var position = encoded.startIndex
        while position < encoded.endIndex {
            let byte = encoded[position]
            position += 1
            switch byte {
            case UInt8(ascii: "%"):
                guard encoded.endIndex - position >= 2, let high = encoded[position].hexDigit,
                    let low = encoded[position + 1].hexDigit
                else { return nil }
                position += 2
                decoded.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace:
                decoded.append(UInt8(ascii: " "))
            default:
                decoded.append(byte)
            }
        }
        guard let text = String(validating: decoded, as: UTF8.self), CombiningMarks.areFew(in: text) else { return nil }
        return text
    }
}
