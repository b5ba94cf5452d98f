/// The name of a member of a JSON object that may have members which the library does not know: fields of
/// plugins, or of a later server.
///
/// It is a protocol and not a generic type for speed: a decoder looks up the metadata of a generic key for each member.
protocol OpenKey: CodingKey {
    /// The members that the library knows, including those that it ignores.
    associatedtype Known: RawRepresentable<String>, CaseIterable

    static var knownNames: NameSet { get }

    init(name: String)
}

extension OpenKey {
    static func known(_ member: Known) -> Self { Self(name: member.rawValue) }

    var intValue: Int? { nil }

    /// Returns nil for a known member, so that a container's `allKeys` has only the unknown ones.
    init?(stringValue name: String) {
        guard !Self.knownNames.contains(name) else { return nil }
        self.init(name: name)
    }

    init?(intValue: Int) { nil }
}

/// A set of names, grouped by length. A lookup takes half the time of one in a `Set`, which hashes the name.
struct NameSet: Sendable {
    private var byLength: [[String]] = []

    init<Name: RawRepresentable<String> & CaseIterable>(_ names: Name.Type) {
        for name in Name.allCases.map(\.rawValue) {
            let length = name.utf8.count
            while byLength.count <= length { byLength.append([]) }
            byLength[length].append(name)
        }
    }

    func contains(_ name: String) -> Bool {
        let length = name.utf8.count
        return length < byLength.count && byLength[length].contains(name)
    }
}

extension KeyedDecodingContainer where Key: OpenKey {
    /// Decodes the members that the library does not know. If there are none, this only looks at the names.
    ///
    /// It leaves out a member that Foundation cannot decode, such as the number 1e400.
    func decodeExtras() -> [String: JSON] {
        let keys = allKeys
        guard !keys.isEmpty else { return [:] }
        var extras: [String: JSON] = [:]
        // `try?`: one service's field must not make a list unreadable.
        for key in keys { extras[key.stringValue] = try? decode(JSON.self, forKey: key) }
        return extras
    }
}

extension [String: JSON] {
    /// Takes each member of `known` that is missing or empty in this object.
    ///
    /// The object comes from an event, which lacks these members, or from an answer while some services are down. If
    /// the server knows no last value of such a service, it sends the empty one that the service declares.
    mutating func keepKnown(_ known: [String: JSON]) { merge(known) { $0.isEmpty ? $1 : $0 } }
}

extension JSON {
    /// True for the values that a field starts with: null, zero, false, and empty strings, arrays and objects.
    fileprivate var isEmpty: Bool {
        switch self {
        case .null: true
        case .bool(let value): !value
        case .integer(let value): value == 0
        case .number(let value): value == 0
        case .string(let value): value.isEmpty
        case .array(let values): values.isEmpty
        case .object(let members): members.isEmpty
        }
    }
}

extension KeyedEncodingContainer where Key: OpenKey {
    /// Encodes members beside the known ones. It leaves out members that have a known name.
    mutating func encode(extras: [String: some Encodable]) throws {
        for (name, value) in extras where !Key.knownNames.contains(name) {
            try encode(value, forKey: Key(name: name))
        }
    }
}
