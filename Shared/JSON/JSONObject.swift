/// The members of a JSON object, in the order they were written. Of two members with one name the last one counts.
public struct JSONObject: Sendable {
    private let text: ArraySlice<UInt8>
    private let members: [JSONScanner.Member]

    /// nil if the value is no object.
    public init?(_ value: JSONValue) {
        guard value.kind == .object else { return nil }
        text = value.bytes
        members = JSONScanner.members(of: text)
    }

    public var isEmpty: Bool { members.isEmpty }
    public var names: [String] { members.map { JSONScanner.unescaped(text.part($0.name)) } }

    public subscript(name: String) -> JSONValue? {
        // Objects here have a dozen members at most: a scan from the end is faster than a table.
        members.last { self.name($0.name, is: name) }.map { JSONValue(trusted: text.part($0.value)) }
    }

    /// Every member with its unescaped name, in order.
    public var all: [(name: String, value: JSONValue)] {
        members.map { (JSONScanner.unescaped(text.part($0.name)), JSONValue(trusted: text.part($0.value))) }
    }

    /// Whether what stands there spells this name. Escapes are rare in names, so bytes come first.
    private func name(_ place: Range<Int>, is name: String) -> Bool {
        var name = name
        let (isSame, isEscaped) = text.withUnsafeBufferPointer { text in
            let written = UnsafeBufferPointer(rebasing: text[place])
            let isSame = name.withUTF8 { written.count == $0.count && written.elementsEqual($0) }
            return (isSame, !isSame && written.contains(UInt8(ascii: "\\")))
        }
        // By bytes again: two texts that look alike are equal as strings, and two names.
        return isSame || (isEscaped && JSONScanner.unescaped(text.part(place)).utf8.elementsEqual(name.utf8))
    }
}
