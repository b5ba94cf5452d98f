import ParlorJSON

extension Manifest {
    public var json: JSONValue {
        JSONWriter.object(reservingCapacity: 4096) {
            $0.member("service", service)
            $0.member("hasEventLog", hasEventLog)
            if logLayout != .single {
                $0.member("logs", array: { for number in logLayout.numbers { $0.number(number) } })
            }
            $0.member("logsWhatRoomsShow", logsWhatRoomsShow)
            $0.member("logsEndedSessions", logsEndedSessions)
            $0.member("presence", presenceSubject)
            $0.member("routes", array: { for route in routes { $0.value(route.json) } })
            $0.member("socketEvents", array: { for event in socketEvents { $0.value(event.json) } })
            $0.member("contribution", contribution?.json)
            writeObjectContributions(to: &$0)
            $0.member("limits", array: { for limit in limits { $0.value(limit.json) } })
            $0.member("batched", batched)
            if !emits.isEmpty { $0.member("emits", emits) }
            if !checks.isEmpty { $0.member("checks", array: { for check in checks { $0.value(check.json) } }) }
            if confirmsPeopleChanges { $0.member("confirmsPeopleChanges", true) }
            if let descriptionDigest { $0.member("description", descriptionDigest) }
        }
    }

    /// Parses the result of `json`; nil for anything else. Parts that a newer service added are skipped.
    public init?(_ json: JSONValue) {
        guard let object = json.object, let service = object["service"]?.string else { return nil }
        self.init(
            service: service,
            routes: object["routes"]?.array?.compactMap(Route.init) ?? [],
            socketEvents: object["socketEvents"]?.array?.compactMap(SocketEvent.init) ?? [],
            contribution: object["contribution"].flatMap(Contribution.init),
            hasEventLog: object["hasEventLog"]?.bool ?? false,
            logsWhatRoomsShow: object["logsWhatRoomsShow"]?.bool ?? false,
            logsEndedSessions: object["logsEndedSessions"]?.bool ?? false,
            presenceSubject: object["presence"]?.string,
            limits: object["limits"]?.array?.compactMap(RateLimit.init) ?? [])
        objectContributions = Self.objectContributions(object)
        checks = object["checks"]?.array?.compactMap(RequestCheck.init) ?? []
        logLayout = object["logs"].flatMap(Self.logLayout) ?? .single
        batched = object["batched"]?.array?.compactMap(\.string) ?? []
        emits = object["emits"]?.array?.compactMap(\.string) ?? []
        confirmsPeopleChanges = object["confirmsPeopleChanges"]?.bool ?? false
        descriptionDigest = object["description"]?.string.flatMap { $0.utf8.count <= 64 ? $0 : nil }
    }
}

extension Manifest {
    private static func logLayout(_ json: JSONValue) -> LogLayout? { json.list(of: \.int).flatMap(LogLayout.init) }

    /// The rate limits that its routes and events name.
    public var namedLimits: Set<String> { Set(routes.flatMap(\.limits) + socketEvents.flatMap(\.limits)) }

    /// Returns the first part of a manifest that `init(_:)` skips, for a line in a log; nil if there is none.
    public static func skippedPart(of json: JSONValue) -> String? {
        func first<Part>(_ member: String, _ read: (JSONValue) -> Part?) -> String? {
            guard let part = json[member]?.array?.first(where: { read($0) == nil }) else { return nil }
            return "a part of `\(member)`: \(String("\(part)".prefix(200)))"
        }
        func only<Part>(_ member: String, _ read: (JSONValue) -> Part?) -> String? {
            guard let part = json[member], !part.isNull, read(part) == nil else { return nil }
            return "`\(member)`"
        }
        return first("routes", Route.init) ?? first("socketEvents", SocketEvent.init) ?? first("limits", RateLimit.init)
            ?? first("checks", RequestCheck.init) ?? only("contribution", Contribution.init)
            ?? only("logs", logLayout)
    }
}

extension Route {
    var json: JSONValue {
        JSONWriter.object {
            $0.member("method", method)
            $0.member("path", path)
            $0.member("subject", subject)
            $0.member("needsLogin", needsLogin)
            $0.member("answer", answer.rawValue)
            $0.member("limits", limits)
            $0.member("heavy", isHeavy)
            $0.member("maxBody", maxBodyBytes)
            if wantsClient { $0.member("wantsClient", true) }
            // Routes without login and routes with `client` are always confidential, so it is not written for them.
            if isConfidential, needsLogin, !wantsClient { $0.member("confidential", true) }
            // `shows` is not a case of `answer`: an older gateway leaves out a route whose `answer` it does not know.
            if let shows { $0.member("shows", shows.rawValue) }
        }
    }

    init?(_ json: JSONValue) {
        guard let object = json.object, let method = object["method"]?.string, let path = object["path"]?.string,
            let subject = object["subject"]?.string, let needsLogin = object["needsLogin"]?.bool,
            let answer = object["answer"]?.string.flatMap(Answer.init),
            method.utf8.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }), path.hasPrefix("/"),
            subject.isOneSubject, (1...Self.maxBodyBytes).contains(object["maxBody"]?.int ?? 1)
        else { return nil }
        self.init(
            method, path, subject, needsLogin: needsLogin, answer: answer,
            shows: object["shows"]?.string.flatMap(ShownObject.init),
            limits: object["limits"]?.array?.compactMap(\.string) ?? [], isHeavy: object["heavy"]?.bool,
            maxBodyBytes: object["maxBody"]?.int, wantsClient: object["wantsClient"]?.bool ?? false,
            isConfidential: object["confidential"]?.bool ?? false)
    }
}

extension SocketEvent {
    var json: JSONValue {
        JSONWriter.object {
            $0.member("event", event)
            $0.member("subject", subject)
            $0.member("ackName", ackName)
            $0.member("ackCopies", object: { for copy in ackCopies { $0.member(copy.name, copy.from) } })
            if answer != .plain { $0.member("answer", answer.rawValue) }
            $0.member("limits", limits)
        }
    }

    init?(_ json: JSONValue) {
        guard let object = json.object, let event = object["event"]?.string, let subject = object["subject"]?.string,
            subject.isOneSubject
        else { return nil }
        let copies = object["ackCopies"]?.object?.all.map { (name: $0.name, from: $0.value.string ?? $0.name) } ?? []
        self.init(
            event, subject, ackName: object["ackName"]?.string, ackCopies: copies,
            answer: object["answer"]?.string.flatMap(Route.Answer.init) ?? .plain,
            limits: object["limits"]?.array?.compactMap(\.string) ?? [])
    }
}

extension Contribution {
    var json: JSONValue {
        JSONWriter.object {
            $0.member("subject", subject)
            $0.member("fields", array: { for field in fields { $0.value(field.json) } })
        }
    }

    init?(_ json: JSONValue) {
        guard let object = json.object, let subject = object["subject"]?.string,
            // Values are in the order of the fields: if one were left out, values would go to the wrong fields.
            let fields = object["fields"]?.list(of: Field.init)
        else { return nil }
        self.init(subject: subject, fields: fields)
    }
}

extension Contribution.Field {
    var json: JSONValue {
        JSONWriter.object {
            $0.member("path", path)
            $0.member("kind", kind.rawValue)
            if let role { $0.member("role", role.json) }
            $0.member("zero", zero)
        }
    }

    init?(_ json: JSONValue) {
        guard let object = json.object, let path = object["path"]?.string, let zero = object["zero"],
            let kind = object["kind"]?.string.flatMap(Contribution.Kind.init)
        else { return nil }
        self.init(
            path, kind, role: object["role"].map(Contribution.Role.init) ?? .implied(by: path, kind), zero: zero)
    }
}

extension Contribution.Role {
    var json: JSONValue {
        JSONWriter.object {
            switch self {
            case .badge(let name): $0.member("badge", name)
            case .activity(let type, let sort):
                $0.member("activity", type)
                $0.member("sort", sort)
            }
        }
    }

    /// Parses a role; nil if only a newer gateway knows it.
    init?(_ json: JSONValue) {
        if let name = json["badge"]?.string {
            self = .badge(name)
        } else if let type = json["activity"]?.string, let sort = json["sort"]?.string {
            self = .activity(type: type, sort: sort)
        } else {
            return nil
        }
    }

    /// Returns the role of a field that names none. Services from before roles existed announce none: their `badges.*`
    /// values are badges, and their time `messagesUpdatedAt` is an activity. With this default, a gateway reads the
    /// same roles from older and newer instances of a service. Remove it once rolling updates from such services are
    /// no longer supported.
    fileprivate static func implied(by path: String, _ kind: Contribution.Kind) -> Contribution.Role? {
        switch kind {
        case .value where path.hasPrefix("badges."): .badge(String(path.dropFirst("badges.".count)))
        case .time where path == "messagesUpdatedAt": .activity(type: "message", sort: "messages")
        default: nil
        }
    }
}

extension RateLimit {
    var json: JSONValue {
        JSONWriter.object {
            $0.member("name", name)
            $0.member("counted", counted.rawValue)
            $0.member("perPerson", perPerson)
            $0.member("perAddress", perAddress)
            $0.member("seconds", seconds)
        }
    }

    init?(_ json: JSONValue) {
        guard let object = json.object, let name = object["name"]?.string,
            let counted = object["counted"]?.string.flatMap(Counted.init), let perPerson = object["perPerson"]?.int,
            let perAddress = object["perAddress"]?.int, let seconds = object["seconds"]?.int,
            // The gateway divides by these.
            perPerson > 0, perAddress > 0, (1...RateLimit.maxSeconds).contains(seconds)
        else { return nil }
        self.init(name, counted, perPerson: perPerson, perAddress: perAddress, seconds: seconds)
    }
}
