import ParlorText

/// The items of a query in the form that browsers and URL libraries write (WHATWG URL, section 5.1): `a=1&b=two+words`.
public struct HTTPQuery: Sendable {
    public let items: [(name: String, value: String)]

    /// The limit of items. No real query has as many; `a&a&a…` could have thousands.
    static let maxItems = 128

    /// Parses a query. `+` is a space, an item without `=` has an empty value, and empty items are skipped.
    ///
    /// - Returns: nil if an escape is broken, a text is not UTF-8 or has too many combining marks in a row, or
    ///   there are more than `maxItems`.
    public init?(parsing text: String) {
        var items: [(name: String, value: String)] = []
        // An array: see `HTTPRequest.pathSegments`.
        let parts = Array(text.utf8).split(separator: UInt8(ascii: "&"), maxSplits: Self.maxItems)
        guard parts.count <= Self.maxItems else { return nil }
        for item in parts {
            let equals = item.firstIndex(of: UInt8(ascii: "=")) ?? item.endIndex
            guard let name = PercentEncoding.decode(item[..<equals], plusIsSpace: true),
                let value = PercentEncoding.decode(item[equals...].dropFirst(), plusIsSpace: true)
            else { return nil }
            items.append((name, value))
        }
        self.items = items
    }

    /// The value of the first item with that name.
    public subscript(name: String) -> String? { items.first { $0.name == name }?.value }
}

/// Escapes of RFC 3986, section 2.1.
enum PercentEncoding {
    /// Decodes escapes. Returns nil if a `%` is not followed by two hexadecimal digits, or if the bytes are
    /// not UTF-8 or have too many combining marks in a row.
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
