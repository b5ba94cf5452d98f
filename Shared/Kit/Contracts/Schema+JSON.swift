import ParlorJSON

// These schemas come from other programs, which may be written in another language. A schema may be wrong or hostile.
// Only known and well-formed parts are kept, so a document that contains such a schema stays valid.
extension Schema {
    /// The limit of nesting, which is also that of recursion here.
    static let maxDepth = 24
    /// The limit of a text for readers, in bytes.
    static let maxTextBytes = 2000
    private static let types: Set<String> = ["object", "array", "string", "number", "integer", "boolean", "null"]

    /// Parses a schema. A keyword that is unknown or malformed is left out, so that more values are accepted,
    /// never fewer. `oneOf` is read as `anyOf`; `pattern`, `default` and `examples` are not kept, as a gateway cannot
    /// check them.
    ///
    /// - Returns: nil if it is no object, or a `$ref` to an invalid name. A part nested deeper than 24 levels is left
    ///   out; a property there accepts any value.
    public init?(_ json: JSONValue, depth: Int = 0) {
        guard depth < Self.maxDepth, let object = json.object else { return nil }
        self.init()
        if let name = object["$ref"]?.string {
            guard Self.isName(name) else { return nil }
            reference = name
            return
        }
        keywords = Self.keywords(of: object)
        let required = Set(object["required"]?.array?.compactMap(\.string) ?? [])
        members = Self.unique(object["properties"]?.object?.all ?? []).map { name, value in
            // Without the property, its values would have to match `additionalProperties`.
            Member(name, Schema(value, depth: depth + 1) ?? Schema(), isRequired: required.contains(name))
        }
        items = [object["items"]].compactMap { $0.flatMap { Schema($0, depth: depth + 1) } }
        others = [object["additionalProperties"]].compactMap { $0.flatMap { Schema($0, depth: depth + 1) } }
        let either = object["anyOf"] ?? object["oneOf"]
        // If one alternative is left out, so are all: fewer values would be accepted without it.
        let listed = either?.array ?? []
        alternatives = listed.compactMap { Schema($0, depth: depth + 1) }
        if alternatives.count != listed.count { alternatives = [] }
        parts = object["allOf"]?.array?.compactMap { Schema($0, depth: depth + 1) } ?? []
    }

    private static func unique(_ members: [(name: String, value: JSONValue)]) -> [(name: String, value: JSONValue)] {
        var seen: Set<String> = []
        return members.filter { seen.insert($0.name).inserted }
    }

    private static func keywords(of object: JSONObject) -> [Keyword] {
        var keywords: [Keyword] = []
        func keep(_ name: String, _ isGood: (JSONValue) -> Bool) {
            if let value = object[name], isGood(value) { keywords.append(Keyword(name: name, value: value.detached)) }
        }
        keep("type", isType)
        keep("format") { ($0.string?.utf8.count ?? .max) <= 64 }
        // Many tools follow a `$ref` anywhere, even inside a value. So `const` and `enum` may not contain objects or
        // arrays.
        keep("const", isScalar)
        keep("enum") { value in value.array.map { !$0.isEmpty && $0.allSatisfy(isScalar) } ?? false }
        for name in ["minimum", "maximum"] { keep(name) { $0.double != nil } }
        for name in ["minLength", "maxLength", "minItems", "maxItems"] { keep(name) { ($0.int ?? -1) >= 0 } }
        for name in ["title", "description"] { keep(name) { ($0.string?.utf8.count ?? .max) <= maxTextBytes } }
        return keywords
    }

    private static func isScalar(_ value: JSONValue) -> Bool { value.kind != .object && value.kind != .array }

    private static func isType(_ value: JSONValue) -> Bool {
        if let name = value.string { return types.contains(name) }
        guard let names = value.array?.map(\.string), !names.isEmpty else { return false }
        return names.allSatisfy { $0.map(types.contains) ?? false } && Set(names).count == names.count
    }
}
