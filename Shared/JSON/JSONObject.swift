/// The members of a JSON object, in the order they were written. Of two members with one name the last one counts.
public struct JSONObject: Sendable {
    /// A name as it stands between its quotation marks, and its value.
    private let members: [(name: ArraySlice<UInt8>, value: JSONValue)]

    /// nil if the value is no object.
    public init?(_ value: JSONValue) {
        guard value.kind == .object else { return nil }
        var scanner = JSONScanner(value.bytes)
        members = scanner.members()
    }

    public var isEmpty: Bool { members.isEmpty }
    public var names: [String] { members.map { JSONScanner.unescaped($0.name) } }

    public subscript(name: String) -> JSONValue? {
        // Objects here have a dozen members at most: a scan from the end is faster than a table.
        members.last { JSONScanner.name($0.name, is: name) }?.value
    }

    /// Every member with its unescaped name, in order.
    public var all: [(name: String, value: JSONValue)] {
        members.map { (JSONScanner.unescaped($0.name), $0.value) }
    }
}
