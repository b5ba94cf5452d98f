/// The name of a member in a JSON object that may have members the library does not know: fields that services
/// add, or that a later server sends.
///
/// It is not generic, because a decoder looks up a generic key's metadata for each member.
protocol OpenKey: CodingKey {
    /// The members that the library knows, including those that it ignores.
    associatedtype Known: RawRepresentable<String>, CaseIterable

    static var knownNames: NameSet { get }

    init(name: String)
}

extension OpenKey {
    static func known(_ member: Known) -> Self { Self(name: member.rawValue) }

    var intValue: Int? { nil }

    /// Fails for a known member, so a container's `allKeys` has the others alone.
    init?(stringValue name: String) {
        guard !Self.knownNames.contains(name) else { return nil }
        self.init(name: name)
    }

    init?(intValue: Int) { nil }
}

/// Names by their length. A lookup takes half the time of one in a `Set`, which hashes the name.
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
    /// Decodes the members that the library does not know. Without any, it only looks at the names.
    ///
    /// A member that Foundation cannot decode, such as the number 1e400, is left out.
    func decodeExtras() -> [String: JSON] {
        let keys = allKeys
        guard !keys.isEmpty else { return [:] }
        var extras: [String: JSON] = [:]
        // `try?`: the field of a service must not make a list unreadable.
        for key in keys { extras[key.stringValue] = try? decode(JSON.self, forKey: key) }
        return extras
    }
}

extension [String: JSON] {
    /// Keeps known members where this object, of an answer that lacks some services, has an empty value or
    /// nothing: a server that has no last known value of a service sends the one that the service declares.
    mutating func keepKnown(_ known: [String: JSON]) { merge(known) { $0.isEmpty ? $1 : $0 } }
}

extension JSON {
    /// True for what a field has before anything has happened: null, zero, false, or nothing in it.
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
    /// Encodes members beside the known ones. One with a known name is left out.
    mutating func encode(extras: [String: some Encodable]) throws {
        for (name, value) in extras where !Key.knownNames.contains(name) {
            try encode(value, forKey: Key(name: name))
        }
    }
}
