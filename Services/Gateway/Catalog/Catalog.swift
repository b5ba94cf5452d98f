import Contracts

/// All that the services have announced: what the gateway offers beside itself.
///
/// It never changes: an announcement makes another. Each request reads one, so it is a class, which costs a reference to hand on.
final class Catalog: Sendable {
    let manifests: [String: Manifest]
    /// In a stable order.
    let services: [Manifest]
    let routes: RouteTable
    let socketEvents: [String: SocketEvent]
    /// The subjects that take several questions at once.
    let batched: Set<String>
    let limits: [String: RateLimit]
    /// The logs that together tell of each change of the lists of rooms that `Subject.rooms` is asked for; nil if one could go untold.
    let listLogs: [String]?
    /// Counts the announcements that changed it.
    let revision: Int
    private let required: Set<String>

    /// What is known before any announcement.
    ///
    /// - Parameter required: the services without which the product is not whole.
    convenience init(required: Set<String>) { self.init([:], required: required, revision: 0) }

    private init(_ manifests: [String: Manifest], required: Set<String>, revision: Int) {
        let all = manifests.values.sorted { $0.service < $1.service }
        self.manifests = manifests
        self.required = required
        self.revision = revision
        services = all
        routes = RouteTable(all.flatMap(\.routes))
        socketEvents = Dictionary(
            all.flatMap(\.socketEvents).map { ($0.event, $0) }, uniquingKeysWith: { first, _ in first })
        limits = Dictionary(
            (GatewaySettings.ownLimits + all.flatMap(\.limits)).map { ($0.name, $0) },
            uniquingKeysWith: { first, _ in first })
        batched = Set(all.flatMap(\.batched))
        listLogs = Self.listLogs(all)
    }

    /// This one, if it has that manifest already. `conflict` has found nothing that is another's.
    func adding(_ manifest: Manifest) -> Catalog {
        guard manifests[manifest.service] != manifest else { return self }
        var manifests = manifests
        manifests[manifest.service] = manifest
        return Catalog(manifests, required: required, revision: revision + 1)
    }

    /// Without those services.
    func removing(_ services: Set<String>) -> Catalog {
        guard !services.isDisjoint(with: manifests.keys) else { return self }
        return Catalog(manifests.filter { !services.contains($0.key) }, required: required, revision: revision + 1)
    }

    // MARK: Limits

    /// What a call of the route counts against: one that names no limit of calls counts all the same.
    func limits(of route: Route) -> [RateLimit] { limits(route.limits, or: route.method == "GET" ? "reads" : "writes") }

    func limits(of event: SocketEvent) -> [RateLimit] { limits(event.limits, or: "writes") }

    private func limits(_ names: [String], or standard: String) -> [RateLimit] {
        let found = names.compactMap { limits[$0] }
        guard let other = limits[standard], !found.contains(where: { $0.counted == .calls }) else { return found }
        return found + [other]
    }

    private static func listLogs(_ all: [Manifest]) -> [String]? {
        let sources = all.filter { manifest in
            manifest.contribution != nil || manifest.routes.contains { $0.subject == Subject.rooms }
        }
        return sources.allSatisfy { $0.hasEventLog && $0.logsWhatRoomsShow } ? sources.map(\.service) : nil
    }

    /// The services that have an event log.
    var streams: [String] { services.filter(\.hasEventLog).map(\.service) }

    var contributors: [(service: String, contribution: Contribution)] {
        services.compactMap { manifest in manifest.contribution.map { (manifest.service, $0) } }
    }

    /// Until every required service was heard from, what is unknown may be theirs.
    var isWhole: Bool { required.allSatisfy { manifests[$0] != nil } }
}
