import ParlorJSON

extension ServiceDescription {
    public var json: JSONValue {
        JSONWriter.object(reservingCapacity: 8192) { json in
            json.member(
                "requests",
                object: { json in
                    for (subject, request) in requests.sorted(by: { $0.key < $1.key }) {
                        json.member(subject, request.json)
                    }
                })
            json.member("events", array: { for event in events { $0.value(event.json) } })
            let ofObjects = ShownObject.allCases.compactMap { kind in objectFields[kind].map { (kind.fieldSchemas, $0) }
            }
            for (name, schemas) in [("fields", fields)] + ofObjects + [("schemas", schemas)] {
                json.member(
                    name,
                    object: { json in
                        for (name, schema) in schemas.sorted(by: { $0.key < $1.key }) { json.member(name, schema.json) }
                    })
            }
        }
    }

    /// Parses the result of `json`. Parts that are malformed or that only a newer service knows are left out.
    ///
    /// - Returns: nil for anything but an object of at most 128 KiB.
    public init?(_ json: JSONValue) {
        guard json.bytes.count <= Self.maxBytes, let object = json.object else { return nil }
        func schemas(_ name: String) -> [String: Schema] {
            let all = object[name]?.object?.all ?? []
            return Dictionary(
                all.compactMap { name, value in Schema(value).map { (name, $0) } }, uniquingKeysWith: { $1 })
        }
        let all = object["requests"]?.object?.all ?? []
        self.init(
            requests: Dictionary(
                all.compactMap { name, value in RequestDescription(value).map { (name, $0) } },
                uniquingKeysWith: { $1 }),
            events: object["events"]?.array?.compactMap(EventDescription.init) ?? [], fields: schemas("fields"),
            objectFields: ShownObject.allCases.reduce(into: [:]) { fields, kind in
                if object[kind.fieldSchemas] != nil { fields[kind] = schemas(kind.fieldSchemas) }
            })
        self.schemas = Self.withoutCycles(schemas("schemas").filter { Schema.isName($0.key) })
    }

    /// Removes schemas whose references form a cycle, such as `"A": {"$ref": "A"}`, and schemas that refer to such a
    /// schema in place. A tool would follow these references for ever.
    private static func withoutCycles(_ schemas: [String: Schema]) -> [String: Schema] {
        // A schema is kept when all schemas that it refers to in place have been kept, which never happens in a cycle.
        var open = schemas.mapValues { $0.referencesInPlace.filter { schemas[$0] != nil } }
        var users: [String: [String]] = [:]
        for (name, references) in open { for reference in references { users[reference, default: []].append(name) } }
        var ready = open.filter(\.value.isEmpty).map(\.key)
        var kept: [String: Schema] = [:]
        while let name = ready.popLast() {
            kept[name] = schemas[name]
            for user in users[name] ?? [] {
                open[user]?.remove(name)
                if open[user]?.isEmpty == true { ready.append(user) }
            }
        }
        return kept
    }
}

extension RequestDescription {
    var json: JSONValue {
        JSONWriter.object { json in
            json.member("summary", summary)
            if !takes.members.isEmpty { json.member("takes", takes.json) }
            if let gives { json.member("gives", gives.json) }
            json.member("statuses", array: { for status in statuses { $0.number(status) } })
            if isPaged { json.member("isPaged", true) }
            if !errors.isEmpty {
                json.member("errors", object: { for error in errors { $0.member(error.rawValue, error.status) } })
            }
        }
    }

    init?(_ json: JSONValue) {
        guard let object = json.object else { return nil }
        let gives = object["gives"].flatMap { Schema($0) }
        let known = object["statuses"]?.array?.compactMap { $0.int.flatMap(Reply.Status.init)?.rawValue } ?? []
        var statuses: [Int] = []
        for status in known where !statuses.contains(status) { statuses.append(status) }
        if statuses.isEmpty { statuses = [gives == nil ? 204 : 200] }
        let errors = object["errors"]?.object?.all.compactMap { ErrorCode(described: $0, status: $1.int) } ?? []
        self.init(
            Self.text(object["summary"]), object["takes"].flatMap { Schema($0) } ?? .object(), gives,
            statuses: statuses, isPaged: object["isPaged"]?.bool ?? false, errors: errors)
    }

    /// Returns the text, or an empty one if the value is not a string or is too long.
    static func text(_ value: JSONValue?) -> String {
        guard let text = value?.string, text.utf8.count <= Schema.maxTextBytes else { return "" }
        return text
    }
}

extension EventDescription {
    var json: JSONValue {
        JSONWriter.object {
            $0.member("event", event)
            $0.member("to", audience.rawValue)
            $0.member("summary", summary)
            $0.member("data", data.json)
        }
    }

    init?(_ json: JSONValue) {
        guard let object = json.object, let event = object["event"]?.string, !event.isEmpty,
            event.utf8.count <= Manifest.Limit.nameBytes,
            let audience = object["to"]?.string.flatMap(Audience.init)
        else { return nil }
        self.init(
            event, to: audience, RequestDescription.text(object["summary"]),
            object["data"].flatMap { Schema($0) } ?? .any)
    }
}
