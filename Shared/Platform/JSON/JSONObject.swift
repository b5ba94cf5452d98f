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
        var name = name
        let place = name.withUTF8 { name in
            text.withUnsafeBufferPointer { text in
                // Objects here have a dozen members at most: a scan from the end is faster than a table.
                members.last { JSONScanner.spells(UnsafeBufferPointer(rebasing: text[$0.name]), name) }
            }
        }
        return place.map { JSONValue(trusted: text.part($0.value)) }
    }

    /// Every member with its unescaped name, in order.
    public var all: [(name: String, value: JSONValue)] {
        members.map { (JSONScanner.unescaped(text.part($0.name)), JSONValue(trusted: text.part($0.value))) }
    }
}
