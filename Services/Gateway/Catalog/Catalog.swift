import Contracts

/// All that the services have announced: what the gateway offers beside itself.
struct Catalog: Sendable {
    private(set) var manifests: [String: Manifest] = [:]
    private(set) var routes = RouteTable([])
    private(set) var socketEvents: [String: SocketEvent] = [:]
    /// The subjects that take several questions at once.
    private(set) var batched: Set<String> = []
    private(set) var limits = Catalog.limits(GatewaySettings.ownLimits)
    /// Counts the announcements that changed it.
    private(set) var revision = 0
    /// The logs that together tell of each change of the lists of rooms that `Subject.rooms` is asked for; nil if one could go untold.
    private(set) var listLogs: [String]?
    private let required: Set<String>

    /// - Parameter required: the services without which the product is not whole.
    init(required: Set<String>) { self.required = required }

    mutating func add(_ manifest: Manifest) {
        guard manifests[manifest.service] != manifest else { return }
        revision += 1
        manifests[manifest.service] = manifest
        let all = services
        routes = RouteTable(all.flatMap(\.routes))
        socketEvents = Dictionary(
            all.flatMap(\.socketEvents).map { ($0.event, $0) }, uniquingKeysWith: { first, _ in first })
        limits = Self.limits(GatewaySettings.ownLimits + all.flatMap(\.limits))
        batched = Set(all.flatMap(\.batched))
        listLogs = Self.listLogs(all)
    }

    private static func listLogs(_ all: [Manifest]) -> [String]? {
        let sources = all.filter { manifest in
            manifest.contribution != nil || manifest.routes.contains { $0.subject == Subject.rooms }
        }
        return sources.allSatisfy { $0.hasEventLog && $0.logsWhatRoomsShow } ? sources.map(\.service) : nil
    }

    private static func limits(_ all: [RateLimit]) -> [String: RateLimit] {
        Dictionary(all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// In a stable order.
    var services: [Manifest] { manifests.values.sorted { $0.service < $1.service } }

    /// The services that have an event log.
    var streams: [String] { services.filter(\.hasEventLog).map(\.service) }

    var contributors: [(service: String, contribution: Contribution)] {
        services.compactMap { manifest in manifest.contribution.map { (manifest.service, $0) } }
    }

    /// Until every required service was heard from, what is unknown may be theirs.
    var isWhole: Bool { required.allSatisfy { manifests[$0] != nil } }
    var requiredServices: [String] { required.sorted() }
}
