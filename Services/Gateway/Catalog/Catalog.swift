import ParlorContracts
import ParlorSocketIO

/// The announced services: everything that the gateway offers beyond its own endpoints.
///
/// It is immutable: an announcement creates another catalog. It is a class, so that passing it on copies
/// only a reference.
package final class Catalog: Sendable {
    package let manifests: [String: Manifest]
    /// The manifests in a stable order.
    package let services: [Manifest]
    /// The services' event logs.
    package let logs: [LogID]
    package let routes: RouteTable
    package let socketEvents: [String: Offered<SocketEvent>]
    /// The checks that precede a `room:join`, which is the gateway's own event.
    package let joinChecks: [ServiceCheck]
    /// The checks without effect.
    package let refusedChecks: [RefusedCheck]
    private let objectContributors: [ShownObject: [Contributor]]
    /// The subjects that accept requests in batches.
    package let batched: Set<String>
    /// The owners of events to clients, by event: the services whose manifests name them, and the gateway.
    private let eventOwners: [String: String]
    /// The badges of each service that has some.
    private let badges: [String: Set<String>]
    /// The rate limits that services declare, by name.
    package let limits: [String: RateLimit]
    /// The services whose answers are in lists of rooms (`Subject.rooms`). It is nil if no service has that route, or
    /// if its service does not log each change of the rooms. Then lists are not cached.
    package let listSources: ListSources?
    /// The number of changes so far, by announcements and removals.
    package let revision: Int
    /// True once every required service has announced itself. Until then an unknown route may
    /// belong to one of them.
    package let isWhole: Bool
    private let required: Set<String>
    private let listedChecks: CheckList?

    /// Creates the catalog before any announcement.
    ///
    /// - Parameters:
    ///   - required: the services without which the product is incomplete.
    ///   - listedChecks: the checks to enforce; nil for all that services declare.
    package convenience init(required: Set<String>, listedChecks: CheckList? = nil) {
        self.init([:], required: required, listedChecks: listedChecks, revision: 0)
    }

    private init(_ manifests: [String: Manifest], required: Set<String>, listedChecks: CheckList?, revision: Int) {
        let all = manifests.values.sorted { $0.service < $1.service }
        self.manifests = manifests
        self.required = required
        self.listedChecks = listedChecks
        self.revision = revision
        services = all
        logs = all.flatMap(\.logs)
        let isWhole = required.allSatisfy { manifests[$0] != nil }
        let checks = CheckTable(all, listed: listedChecks, isWhole: isWhole)
        limits = Dictionary(all.flatMap(\.limits).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        routes = RouteTable(
            all.flatMap(\.routes).map { [limits] in
                let standard = $0.method == "GET" ? OwnLimits.reads : OwnLimits.writes
                return Offered(
                    declaration: $0, limits: OwnLimits.limits($0.limits, limits, or: standard),
                    checks: checks[$0.subject])
            })
        socketEvents = Dictionary(
            all.flatMap(\.socketEvents).map { [limits] in
                let counted = OwnLimits.limits($0.limits, limits, or: OwnLimits.writes)
                return ($0.event, Offered(declaration: $0, limits: counted, checks: checks[$0.subject]))
            }, uniquingKeysWith: { first, _ in first })
        joinChecks = checks[RequestCheck.join]
        refusedChecks = checks.refused
        objectContributors = Dictionary(grouping: all.flatMap(Contributor.all), by: \.object)
        batched = Set(all.flatMap(\.batched))
        eventOwners = Dictionary(
            all.flatMap { manifest in manifest.emits.map { ($0, manifest.service) } }
                + Self.ownEvents.map { ($0, Self.gateway) }, uniquingKeysWith: { _, last in last })
        badges = Dictionary(all.map { ($0.service, $0.badges) }, uniquingKeysWith: { first, _ in first })
        listSources = ListSources(all)
        self.isWhole = isWhole
    }

    /// Returns a catalog with this manifest, or this catalog if it has the manifest already. `conflict` must
    /// have found no conflict.
    package func adding(_ manifest: Manifest) -> Catalog {
        guard manifests[manifest.service] != manifest else { return self }
        var manifests = manifests
        manifests[manifest.service] = manifest
        return with(manifests)
    }

    /// Returns a catalog without these services.
    package func removing(_ services: Set<String>) -> Catalog {
        guard !services.isDisjoint(with: manifests.keys) else { return self }
        return with(manifests.filter { !services.contains($0.key) })
    }

    private func with(_ manifests: [String: Manifest]) -> Catalog {
        Catalog(manifests, required: required, listedChecks: listedChecks, revision: revision + 1)
    }

    package typealias RoomContributor = (service: String, contribution: Contribution)

    package var contributors: [RoomContributor] {
        services.compactMap { manifest in manifest.contribution.map { (manifest.service, $0) } }
    }

    /// The services whose answers are in lists of rooms.
    package struct ListSources: Sendable {
        /// The service that owns the rooms.
        package let owner: String
        /// The logs of the services that log each change of their part of a list: the owner, and some contributors.
        package let logs: [LogID]
        /// The contributors without such a log. They are asked for each list.
        package let unlogged: Set<String>

        fileprivate init?(_ all: [Manifest]) {
            let owner = all.first { $0.routes.contains { $0.subject == Subject.rooms } }
            guard let owner, owner.logsItsFields else { return nil }
            let sources = all.filter { $0.contribution != nil || $0.service == owner.service }
            self.owner = owner.service
            logs = sources.filter(\.logsItsFields).flatMap(\.logs)
            unlogged = Set(sources.lazy.filter { !$0.logsItsFields }.map(\.service))
        }
    }

    /// A service that adds fields to messages or people.
    package struct Contributor: Sendable {
        /// A service and the form of its contribution. When its fields change, cached values of the old form must not
        /// be used.
        package struct Source: Hashable, Sendable {
            package let service: String
            let form: Int

            /// The log with the changes of its fields.
            package var log: LogID { LogID(service) }

            init(_ service: String, _ contribution: Contribution) {
                self.service = service
                form = contribution.fields.map { "\($0.path) \($0.kind)" }.hashValue
            }
        }

        package let source: Source
        package let object: ShownObject
        package let contribution: Contribution
        /// True if the service's one log has an entry for each change of its fields.
        package let isLogged: Bool

        fileprivate static func all(of manifest: Manifest) -> [Contributor] {
            manifest.objectContributions.map { object, contribution in
                Contributor(
                    source: Source(manifest.service, contribution), object: object, contribution: contribution,
                    isLogged: manifest.logsItsFields && manifest.logLayout == .single)
            }
        }

        package var service: String { source.service }
    }

    /// Returns the services that add fields to these objects, in a stable order.
    package func contributors(to object: ShownObject) -> [Contributor] { objectContributors[object, default: []] }
}

extension Catalog {
    /// The gateway's name as the holder of its own claims, which no service can have.
    package static let gateway = "gateway"

    /// The events that only the gateway sends, or completes, and those that client libraries take for their own: a library
    /// would run its handler of the connection's end, with a service's payload.
    private static let ownEvents =
        ["sync:done", "room:presence", "message:typing", "room:badges", "request:error"]
        + SocketIOPacket.reservedNames
        // Those of socket.io-client-swift.
        + ["error", "ping", "pong", "reconnect", "reconnectAttempt", "statusChange", "websocketUpgrade"]

    /// Returns why a service may not send clients an event; nil if it may.
    func refusal(of emission: Emission, from service: String) -> String? {
        guard (1...Manifest.Limit.nameBytes).contains(emission.event.utf8.count) else {
            return "its name has not 1 to \(Manifest.Limit.nameBytes) bytes"
        }
        if emission.composition == .badges, emission.event == "room:badges" {
            for (name, value) in emission.data["badges"]?.object?.all ?? [] {
                guard badges[service]?.contains(name) == true else { return "the badge \(name) is not this service's" }
                guard (value.int ?? -1) >= 0 else { return "the badge \(name) is \("\(value)".prefix(64))" }
            }
            return nil
        }
        guard let owner = eventOwners[emission.event], owner != service else { return nil }
        if emission.event == "room:badges" { return "only `compose: badges` sends it" }
        return owner == Self.gateway ? "it is the gateway's, or client libraries' own" : "it belongs to \(owner)"
    }

    /// The gateway's own claims: sort orders, events, members of a Room, and paths with every method.
    private static let ownClaims: Set<String> = {
        let orders = ["sort activity", "sort content"]
        let events = (OwnEvent.allCases.map(\.rawValue) + SocketIOPacket.reservedNames).map { "event \($0)" }
        let sent = ownEvents.map { "sending \($0)" }
        let fields = [
            "id", "name", "displayName", "createdBy", "createdAt", "updatedAt", "lastActivityAt", "lastActivityType",
            "isActive", "participants", "badges", "hasUnread",
        ].map { "field \($0)" }
        let objectFields = ShownObject.allCases.flatMap { object in object.ownMembers.map(object.claim) }
        let paths = [
            "", "api/sync", "api/openapi.json", "api/asyncapi.json", "healthz", "readyz", "metrics", "socket.io",
        ]
        let routes = paths.flatMap { path in
            ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].map { "\($0) /\(path)" }
        }
        return Set(orders + events + sent + fields + objectFields + routes)
    }()

    /// Returns true if the product needs the service. A required service may take claims over from one that is
    /// not.
    package func isRequired(_ service: String) -> Bool { required.contains(service) }

    /// Returns the first claim of a manifest that another service, or the gateway, already has. The first
    /// owner keeps it: otherwise a compromised service could redirect others' requests, including passwords,
    /// to itself.
    ///
    /// - Returns: nil if there is no conflict.
    package func conflict(with manifest: Manifest) -> (claim: String, holder: String)? {
        let claims = manifest.claims
        if let claim = Self.ownClaims.intersection(claims).min() { return (claim, Self.gateway) }
        for other in services where other.service != manifest.service {
            if let claim = other.claims.intersection(claims).min() { return (claim, other.service) }
        }
        return nil
    }
}

extension ShownObject {
    fileprivate func claim(_ path: String) -> String { "field \(path) of a \(name)" }
}

extension Manifest {
    /// The service's event logs.
    package var logs: [LogID] { hasEventLog ? logLayout.logs(of: service) : [] }

    /// True if the service's log has an entry for each change of its fields.
    package var logsItsFields: Bool { hasEventLog && logsWhatRoomsShow }

    /// The first claim that the manifest has twice, such as two fields with one name; nil if there is none.
    package var repeatedClaim: String? {
        var seen: Set<String> = []
        return allClaims.first { !seen.insert($0).inserted }
    }

    fileprivate var claims: Set<String> { Set(allClaims) }

    fileprivate var badges: Set<String> {
        Set(
            (contribution?.fields ?? []).compactMap { field in
                if case .badge(let name) = field.role { name } else { nil }
            })
    }

    /// The exclusive claims of a service, as operators read them.
    private var allClaims: [String] {
        var claims: [String] = []
        for route in routes {
            // Names of parameters are irrelevant.
            let segments = route.path.split(separator: "/").map { $0.hasPrefix(":") ? ":" : $0 }
            claims.append("\(route.method) /\(segments.joined(separator: "/"))")
        }
        for event in socketEvents { claims.append("event \(event.event)") }
        for event in emits { claims.append("sending \(event)") }
        for limit in limits { claims.append("limit \(limit.name)") }
        for field in contribution?.fields ?? [] {
            if field.kind != .laterTime { claims.append("field \(field.path)") }
            switch field.role {
            case .badge(let name): claims.append("badge \(name)")
            case .activity(_, let sort): claims.append("sort \(sort)")
            case nil: break
            }
        }
        for (object, contribution) in objectContributions {
            claims += contribution.fields.map { object.claim($0.path) }
        }
        if logsEndedSessions { claims.append("the log of ended sessions") }
        return claims
    }
}
