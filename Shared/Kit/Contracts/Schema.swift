import ParlorJSON

/// A JSON Schema (2020-12): the form of a value in the public API. It is for readers of `openapi.json` and
/// `asyncapi.json`; no request is checked against it.
///
///     static let schema = Schema.named("Receipt", .object(["userId": .id, "readAt": .time]))
public struct Schema: Sendable, Equatable {
    public struct Member: Sendable, Equatable {
        public let name: String
        public let schema: Schema
        public let isRequired: Bool

        public init(_ name: String, _ schema: Schema, isRequired: Bool = true) {
            self.name = name
            self.schema = schema
            self.isRequired = isRequired
        }
    }

    /// A keyword without a schema in its value.
    struct Keyword: Sendable, Equatable {
        let name: String
        var value: JSONValue
    }

    /// The name of the schema that this one refers to.
    public internal(set) var reference: String?
    var keywords: [Keyword] = []
    /// The members of an object, in the order in which they are shown.
    public internal(set) var members: [Member] = []
    /// `items` and `additionalProperties`: each has at most one schema. They are arrays, as a struct cannot
    /// contain itself.
    var items: [Schema] = []
    var others: [Schema] = []
    /// `anyOf` and `allOf`.
    var alternatives: [Schema] = []
    var parts: [Schema] = []
    /// The named schemas that it refers to, directly or through others, by name. They are no part of its JSON.
    public internal(set) var definitions: [String: Schema] = [:]

    init() {}

    private init(_ keywords: Keyword...) { self.keywords = keywords }

    private init(type: String, _ keywords: Keyword...) {
        self.keywords = [Keyword(name: "type", value: JSONValue(type))] + keywords
    }
}

// MARK: Values

extension Schema {
    public static let any = Schema()
    public static let string = Schema(type: "string")
    public static let integer = Schema(type: "integer")
    public static let number = Schema(type: "number")
    public static let boolean = Schema(type: "boolean")
    public static let null = Schema(type: "null")
    /// An opaque id.
    public static let id = string
    /// A time with three decimals, or in whole seconds.
    public static let time = Schema(type: "string", Keyword(name: "format", value: JSONValue("date-time")))
    /// A Room as its recipient sees it. Gateways compose it from all services' fields, and they define this schema.
    public static let room = Schema.reference("Room")

    /// Returns the schema of a text with a limited length.
    ///
    /// - Parameter length: in Unicode scalars.
    public static func string(_ length: ClosedRange<Int>) -> Schema {
        Schema(
            type: "string", Keyword(name: "minLength", value: JSONValue(length.lowerBound)),
            Keyword(name: "maxLength", value: JSONValue(length.upperBound)))
    }

    public static func integer(from minimum: Int) -> Schema {
        Schema(type: "integer", Keyword(name: "minimum", value: JSONValue(minimum)))
    }

    public static func integer(_ range: ClosedRange<Int>) -> Schema {
        var schema = integer(from: range.lowerBound)
        schema.keywords.append(Keyword(name: "maximum", value: JSONValue(range.upperBound)))
        return schema
    }

    public static func constant(_ value: JSONValue) -> Schema { Schema(Keyword(name: "const", value: value)) }

    /// Returns the schema of a text that is one of these.
    public static func choice(_ texts: [String]) -> Schema {
        Schema(
            type: "string",
            Keyword(name: "enum", value: JSONWriter.value { $0.array(of: texts) { $0.string($1) } }))
    }

    // MARK: Compound values

    public static func array(of item: Schema, count: ClosedRange<Int>? = nil) -> Schema {
        var schema = Schema(type: "array").including(item)
        schema.items = [item]
        if let count {
            schema.keywords.append(Keyword(name: "minItems", value: JSONValue(count.lowerBound)))
            schema.keywords.append(Keyword(name: "maxItems", value: JSONValue(count.upperBound)))
        }
        return schema
    }

    public static func object(
        _ required: KeyValuePairs<String, Schema> = [:], optional: KeyValuePairs<String, Schema> = [:]
    ) -> Schema {
        object(required.map { Member($0, $1) } + optional.map { Member($0, $1, isRequired: false) })
    }

    /// Returns the schema of an object with these members.
    ///
    /// - Parameter members: if two members have the same name, only the first is kept.
    public static func object(_ members: [Member]) -> Schema {
        var schema = members.reduce(Schema(type: "object")) { $0.including($1.schema) }
        var names: Set<String> = []
        schema.members = members.filter { names.insert($0.name).inserted }
        return schema
    }

    /// Returns the schema of an object whose members have any names.
    public static func map(of value: Schema) -> Schema {
        var schema = Schema(type: "object").including(value)
        schema.others = [value]
        return schema
    }

    public static func anyOf(_ alternatives: [Schema]) -> Schema {
        var schema = alternatives.reduce(Schema()) { $0.including($1) }
        schema.alternatives = alternatives
        return schema
    }

    public static func allOf(_ parts: [Schema]) -> Schema {
        var schema = parts.reduce(Schema()) { $0.including($1) }
        schema.parts = parts
        return schema
    }

    /// The same value or null.
    public var orNull: Schema {
        guard let type = keywords.first, type.name == "type", let name = type.value.string,
            !keywords.contains(where: { $0.name == "enum" })
        else { return .anyOf([self, .null]) }
        var schema = self
        schema.keywords[0].value = JSONWriter.value { json in
            json.array {
                $0.string(name)
                $0.string("null")
            }
        }
        return schema
    }

    /// Returns the schema with a text for readers.
    public func noted(_ text: String) -> Schema {
        // Not every tool reads what is beside a reference.
        var schema = reference == nil ? self : .allOf([self])
        schema.keywords.removeAll { $0.name == "description" }
        schema.keywords.append(Keyword(name: "description", value: JSONValue(text)))
        return schema
    }

    // MARK: Names

    /// Returns a reference to a schema of the same service, of the gateway (`room`), or of a service in the gateway's
    /// `REQUIRED_SERVICES`.
    public static func reference(_ name: String) -> Schema {
        var schema = Schema()
        schema.reference = name
        return schema
    }

    /// Returns a schema with a name. A document contains the schema once, and refers to it by name wherever it is used.
    ///
    /// - Parameter name: letters, digits, `_` and `-`.
    public static func named(_ name: String, _ schema: Schema) -> Schema {
        precondition(isName(name), "\(name) is no name of a schema")
        var named = reference(name).including(schema)
        named.definitions[name] = schema
        return named
    }

    /// Returns the schema with other names in its references.
    public func renamingReferences(_ rename: (String) -> String) -> Schema {
        var schema = self
        schema.reference = reference.map(rename)
        schema.members = members.map {
            Member($0.name, $0.schema.renamingReferences(rename), isRequired: $0.isRequired)
        }
        schema.items = items.map { $0.renamingReferences(rename) }
        schema.others = others.map { $0.renamingReferences(rename) }
        schema.alternatives = alternatives.map { $0.renamingReferences(rename) }
        schema.parts = parts.map { $0.renamingReferences(rename) }
        return schema
    }

    /// Returns the object with the given members added, except those whose names it has already.
    public func adding(_ more: [Member]) -> Schema {
        var schema = more.reduce(self) { $0.including($1.schema) }
        schema.members += more.filter { member in !members.contains { $0.name == member.name } }
        return schema
    }

    /// The names of the schemas that apply to the value itself. Schemas of its members and items are left out.
    var referencesInPlace: Set<String> {
        (alternatives + parts).reduce(Set([reference].compactMap(\.self))) { $0.union($1.referencesInPlace) }
    }

    static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    private func including(_ other: Schema) -> Schema {
        var schema = self
        // One name has one definition in a service, so it does not matter which one stays.
        schema.definitions.merge(other.definitions) { first, _ in first }
        return schema
    }
}

// MARK: JSON

extension Schema {
    public var json: JSONValue { JSONWriter.value { write(to: &$0) { $0 } } }

    /// Writes the schema as JSON.
    ///
    /// - Parameter name: the `$ref` for the name of a schema; nil if there is no such schema, so that any value
    ///   is accepted there.
    public func write(to json: inout JSONWriter, naming name: (String) -> String?) {
        json.object { json in
            if let reference {
                if let target = name(reference) { json.member("$ref", target) }
                return
            }
            for keyword in keywords { json.member(keyword.name, keyword.value) }
            if !members.isEmpty {
                json.member(
                    "properties",
                    object: {
                        for member in members {
                            $0.name(member.name)
                            member.schema.write(to: &$0, naming: name)
                        }
                    })
                let required = members.filter(\.isRequired)
                if !required.isEmpty {
                    json.member("required", required.map(\.name))
                }
            }
            for (keyword, schemas) in [("items", items), ("additionalProperties", others)] {
                guard let schema = schemas.first else { continue }
                json.name(keyword)
                schema.write(to: &json, naming: name)
            }
            for (keyword, schemas) in [("anyOf", alternatives), ("allOf", parts)] where !schemas.isEmpty {
                json.name(keyword)
                json.array { json in for schema in schemas { schema.write(to: &json, naming: name) } }
            }
        }
    }
}
