import Contracts

/// The announced services: everything that the gateway offers beyond its own endpoints.
///
/// It is immutable: an announcement creates another catalog. It is a class, so that a request that passes it
/// on copies only a reference.
package final class Catalog: Sendable {
    package let manifests: [String: Manifest]
    /// The manifests in a stable order.
    package let services: [Manifest]
    package let routes: RouteTable
    package let socketEvents: [String: Checked<SocketEvent>]
    /// The checks that precede a `room:join`, which is the gateway's own event.
    package let joinChecks: [ServiceCheck]
    /// The checks without effect.
    package let refusedChecks: [RefusedCheck]
    private let objectContributors: [ShownObject: [Contributor]]
    /// The subjects that accept requests in batches.
    package let batched: Set<String>
    /// The rate limits that services declare, by name.
    package let limits: [String: RateLimit]
    /// The logs that record every change of the lists of rooms (`Subject.rooms`); nil if some changes may be in no log.
    package let listLogs: [String]?
    /// The number of changes so far, by announcements and removals.
    package let revision: Int
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
        let checks = CheckTable(all, listed: listedChecks)
        routes = RouteTable(all.flatMap(\.routes).map { Checked(declaration: $0, checks: checks[$0.subject]) })
        socketEvents = Dictionary(
            all.flatMap(\.socketEvents).map { ($0.event, Checked(declaration: $0, checks: checks[$0.subject])) },
            uniquingKeysWith: { first, _ in first })
        joinChecks = checks[RequestCheck.join]
        refusedChecks = checks.refused
        objectContributors = Dictionary(grouping: all.flatMap(Contributor.all), by: \.object)
        limits = Dictionary(all.flatMap(\.limits).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        batched = Set(all.flatMap(\.batched))
        listLogs = Self.listLogs(all)
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

    private static func listLogs(_ all: [Manifest]) -> [String]? {
        let sources = all.filter { manifest in
            manifest.contribution != nil || manifest.routes.contains { $0.subject == Subject.rooms }
        }
        return sources.allSatisfy { $0.hasEventLog && $0.logsWhatRoomsShow } ? sources.map(\.service) : nil
    }

    /// The services that have an event log.
    package var streams: [String] { services.filter(\.hasEventLog).map(\.service) }

    package var contributors: [(service: String, contribution: Contribution)] {
        services.compactMap { manifest in manifest.contribution.map { (manifest.service, $0) } }
    }

    /// A service that adds fields to messages or people.
    package struct Contributor: Sendable {
        /// A service and the form of its contribution. When its fields change, cached values of the old form must not
        /// be used.
        package struct Source: Hashable, Sendable {
            package let service: String
            let form: Int

            init(_ service: String, _ contribution: Contribution) {
                self.service = service
                form = contribution.fields.map { "\($0.path) \($0.kind)" }.hashValue
            }
        }

        package let source: Source
        package let object: ShownObject
        package let contribution: Contribution
        /// True if the service's log has an entry for each change of its fields.
        package let isLogged: Bool

        fileprivate static func all(of manifest: Manifest) -> [Contributor] {
            manifest.objectContributions.map { object, contribution in
                Contributor(
                    source: Source(manifest.service, contribution), object: object, contribution: contribution,
                    isLogged: manifest.hasEventLog && manifest.logsWhatRoomsShow)
            }
        }

        package var service: String { source.service }
    }

    /// Returns the services that add fields to these objects, in a stable order.
    package func contributors(to object: ShownObject) -> [Contributor] { objectContributors[object, default: []] }

    /// True once every required service has announced itself. Until then an unknown route may
    /// belong to one of them.
    package var isWhole: Bool { required.allSatisfy { manifests[$0] != nil } }
}

extension Catalog {
    /// The holder of the claims that no service can have.
    package static let gateway = "gateway"

    /// The gateway's own claims: sort orders, events, members of a Room, and paths with every method.
    private static let ownClaims: Set<String> = {
        let orders = ["sort activity", "sort content"]
        let events = ["room:join", "room:leave", "message:typing"].map { "event \($0)" }
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
        return Set(orders + events + fields + objectFields + routes)
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
    /// The exclusive claims of a service, as operators read them.
    fileprivate var claims: Set<String> {
        var claims: Set<String> = []
        for route in routes {
            // Names of parameters are irrelevant.
            let segments = route.path.split(separator: "/").map { $0.hasPrefix(":") ? ":" : $0 }
            claims.insert("\(route.method) /\(segments.joined(separator: "/"))")
        }
        for event in socketEvents { claims.insert("event \(event.event)") }
        for limit in limits { claims.insert("limit \(limit.name)") }
        for field in contribution?.fields ?? [] {
            if field.kind != .laterTime { claims.insert("field \(field.path)") }
            switch field.role {
            case .badge(let name): claims.insert("badge \(name)")
            case .activity(_, let sort): claims.insert("sort \(sort)")
            case nil: break
            }
        }
        for (object, contribution) in objectContributions {
            claims.formUnion(contribution.fields.map { object.claim($0.path) })
        }
        if logsEndedSessions { claims.insert("the log of ended sessions") }
        return claims
    }
}
