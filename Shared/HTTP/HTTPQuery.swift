/// The items of a query in the form that browsers and URL libraries write (WHATWG URL, section 5.1): `a=1&b=two+words`.
public struct HTTPQuery: Sendable {
    public let items: [(name: String, value: String)]

    /// `+` is a space, an item without `=` has an empty value, and empty items are skipped.
    ///
    /// - Returns: nil if an escape is broken or the result is not UTF-8.
    public init?(parsing text: String) {
        var items: [(name: String, value: String)] = []
        for item in text.utf8.split(separator: UInt8(ascii: "&")) {
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
