import ParlorJSON

/// An operator's request to all gateways, on `Subject.listServices` or `Subject.forgetService`.
public struct OperatorRequest: Sendable, Equatable {
    /// The id of the request, which is in each reply.
    public let id: String
    /// The service; nil for all services.
    public let service: String?
    /// True if the reply lists the names of routes, events, badges and fields. Otherwise it only counts them.
    public let wantsNames: Bool

    private static let maxIDBytes = 64

    public init(id: String, service: String? = nil, wantsNames: Bool = false) {
        self.id = id
        self.service = service
        self.wantsNames = wantsNames
    }

    public var json: JSONValue {
        JSONWriter.object {
            $0.member("question", id)
            $0.member("service", service)
            $0.member("names", wantsNames)
        }
    }

    /// Parses the result of `json`; nil for anything else, and for an id of more than 64 bytes.
    public init?(_ json: JSONValue) {
        // The id is in each of many answers.
        guard let object = json.object, let id = object["question"]?.string, id.utf8.count <= Self.maxIDBytes else {
            return nil
        }
        self.init(id: id, service: object["service"]?.string, wantsNames: object["names"]?.bool ?? false)
    }
}

/// A gateway's reply to `Subject.listServices`: one report for each service, and a last report with the number of
/// services. So whoever asks notices that a report is missing.
public struct ServiceReport: Sendable, Equatable {
    public let requestID: String
    /// The gateway's id, which is also in its heartbeat.
    public let gateway: String
    /// The gateway's instance: the host's name and the process's id.
    public let instance: String
    public let content: Content

    public enum Content: Sendable, Equatable {
        case service(KnownService)
        case end(count: Int)
    }

    public init(requestID: String, gateway: String, instance: String, _ content: Content) {
        self.requestID = requestID
        self.gateway = gateway
        self.instance = instance
        self.content = content
    }

    public var json: JSONValue {
        JSONWriter.object {
            $0.member("question", requestID)
            $0.member("gateway", gateway)
            $0.member("instance", instance)
            switch content {
            case .service(let service): $0.member("service", service.json)
            case .end(let count): $0.member("services", count)
            }
        }
    }

    /// Parses the result of `json`; nil for anything else.
    public init?(_ json: JSONValue) {
        guard let object = json.object, let requestID = object["question"]?.string,
            let gateway = object["gateway"]?.string, let instance = object["instance"]?.string
        else { return nil }
        let content: Content? =
            if let count = object["services"]?.int {
                .end(count: count)
            } else {
                object["service"].flatMap(KnownService.init).map { .service($0) }
            }
        guard let content else { return nil }
        self.init(requestID: requestID, gateway: gateway, instance: instance, content)
    }
}

/// What a gateway knows of a service.
public struct KnownService: Sendable, Equatable {
    public let name: String
    /// True for the services of the gateway's `REQUIRED_SERVICES`.
    public let isRequired: Bool
    /// What it offers; nil if the gateway has refused all of its announcements.
    public var offer: ServiceOffer?
    /// The time since its first announcement to this gateway; nil if there was none since the gateway started.
    public let known: Duration?
    /// The time since its last announcement. An earlier process with the same data folder may have received it.
    public let heard: Duration?
    /// True if a request reaches an instance.
    public var isServed: Bool
    public let refusal: Refusal?

    /// The last announcement of the service that the gateway refused.
    public struct Refusal: Sendable, Equatable {
        /// The reason, such as `POST /api/auth/login is of accounts`.
        public let reason: String
        public let age: Duration

        public init(reason: String, age: Duration) {
            self.reason = reason
            self.age = age
        }
    }

    public init(
        name: String, isRequired: Bool, offer: ServiceOffer?, known: Duration?, heard: Duration?, isServed: Bool,
        refusal: Refusal?
    ) {
        self.name = name
        self.isRequired = isRequired
        self.offer = offer
        self.known = known
        self.heard = heard
        self.isServed = isServed
        self.refusal = refusal
    }

    fileprivate var json: JSONValue {
        JSONWriter.object {
            $0.member("name", name)
            $0.member("required", isRequired)
            $0.member("served", isServed)
            if let known { $0.member("knownFor", Int(known.components.seconds)) }
            if let heard { $0.member("heardBefore", Int(heard.components.seconds)) }
            $0.member("offer", offer?.json)
            if let refusal {
                $0.member("refused", refusal.reason)
                $0.member("refusedBefore", Int(refusal.age.components.seconds))
            }
        }
    }

    fileprivate init?(_ json: JSONValue) {
        guard let object = json.object, let name = object["name"]?.string, let isRequired = object["required"]?.bool,
            let isServed = object["served"]?.bool
        else { return nil }
        func time(_ member: String) -> Duration? { object[member]?.int.map { .seconds($0) } }
        let refusal: Refusal? =
            if let reason = object["refused"]?.string, let age = time("refusedBefore") {
                Refusal(reason: reason, age: age)
            } else {
                nil
            }
        self.init(
            name: name, isRequired: isRequired, offer: object["offer"].flatMap(ServiceOffer.init),
            known: time("knownFor"), heard: time("heardBefore"), isServed: isServed, refusal: refusal)
    }
}

/// What a service offers: how many of each kind, or their names too.
public struct ServiceOffer: Sendable, Equatable {
    public enum Kind: String, Sendable, CaseIterable {
        case routes, events, badges, fields, checks
    }

    /// The digest of the manifest. Two gateways of one release that have the same announcement have the same
    /// digest.
    public let digest: String
    public var names: [Kind: [String]]?
    private let counts: [Kind: Int]

    public init(_ manifest: Manifest, digest: String) {
        let fields = manifest.contribution?.fields ?? []
        let badges = fields.compactMap { field -> String? in
            if case .badge(let name) = field.role { name } else { nil }
        }
        let objectFields = ShownObject.allCases.flatMap { object in
            (manifest.objectContributions[object]?.fields ?? []).map { "\(object.name).\($0.path)" }
        }
        let names: [Kind: [String]] = [
            .routes: manifest.routes.map { "\($0.method) \($0.path)" },
            .events: manifest.socketEvents.map(\.event),
            .badges: badges,
            .fields: fields.filter { if case .badge = $0.role { false } else { true } }.map(\.path) + objectFields,
            .checks: manifest.checks.map { "before \($0.before), if it is down: \($0.whenAway.rawValue)" },
        ]
        self.digest = digest
        self.names = names
        counts = names.mapValues(\.count)
    }

    public func count(of kind: Kind) -> Int { counts[kind] ?? 0 }

    fileprivate var json: JSONValue {
        JSONWriter.object {
            $0.member("digest", digest)
            for kind in Kind.allCases {
                $0.member(kind.rawValue, count(of: kind))
                if let names {
                    $0.member("\(kind.rawValue)Names", names[kind] ?? [])
                }
            }
        }
    }

    fileprivate init?(_ json: JSONValue) {
        guard let object = json.object, let digest = object["digest"]?.string else { return nil }
        var (counts, names): ([Kind: Int], [Kind: [String]]) = ([:], [:])
        for kind in Kind.allCases {
            // A gateway of another release may not know each kind.
            counts[kind] = object[kind.rawValue]?.int
            if let list = object["\(kind.rawValue)Names"]?.array { names[kind] = list.compactMap(\.string) }
        }
        self.digest = digest
        self.counts = counts
        self.names = names.isEmpty ? nil : names
    }
}

/// A gateway's reply to `Subject.forgetService`.
public struct ForgettingReport: Sendable, Equatable {
    public enum Outcome: String, Sendable {
        /// The gateway has removed the service, and its file of manifests no longer has it.
        case forgotten
        /// As `forgotten`, but the file could not be written: the gateway's next start would know the service again.
        case notWritten
        /// It is one of the gateway's `REQUIRED_SERVICES`. Nothing was removed.
        case required
        /// It has just announced itself, and so would come back at once. Nothing was removed.
        case announced
        /// The gateway does not know it.
        case unknown
    }

    public let requestID: String
    public let gateway: String
    public let instance: String
    public let outcome: Outcome
    /// What the service had offered, with its names; nil if nothing was removed.
    public let offer: ServiceOffer?

    public init(requestID: String, gateway: String, instance: String, _ outcome: Outcome, offer: ServiceOffer? = nil) {
        self.requestID = requestID
        self.gateway = gateway
        self.instance = instance
        self.outcome = outcome
        self.offer = offer
    }

    public var json: JSONValue {
        JSONWriter.object {
            $0.member("question", requestID)
            $0.member("gateway", gateway)
            $0.member("instance", instance)
            $0.member("outcome", outcome.rawValue)
            $0.member("offer", offer?.json)
        }
    }

    /// Parses the result of `json`; nil for anything else.
    public init?(_ json: JSONValue) {
        guard let object = json.object, let requestID = object["question"]?.string,
            let gateway = object["gateway"]?.string, let instance = object["instance"]?.string,
            let outcome = object["outcome"]?.string.flatMap(Outcome.init)
        else { return nil }
        self.init(
            requestID: requestID, gateway: gateway, instance: instance, outcome,
            offer: object["offer"].flatMap(ServiceOffer.init))
    }
}
