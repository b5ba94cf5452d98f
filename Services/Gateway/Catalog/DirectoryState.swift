import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceKit

/// The services that the directory knows, and when they announced themselves.
struct DirectoryState {
    /// The announcements of a service in the catalog.
    struct Heard {
        let since: Timestamp
        var last: Timestamp
        /// The number of announcements. `last` alone does not show a new one, as two may have the same time.
        var count = 1
    }

    var catalog: Catalog
    var subscriptions: [BusSubscription] = []
    /// The file's content, so that it is written only after a change.
    var saved: [String: JSONValue] = [:]
    /// The time of each service's last announcement, updated by sweeps and by changes.
    var announcedAt: [String: Timestamp] = [:]
    /// The services that announced themselves since the last sweep.
    var announcedNames: Set<String> = []
    /// The announcements of each service in the catalog, since the start.
    private(set) var heard: [String: Heard] = [:]
    /// The last refused announcement of each service.
    var refused = RefusedAnnouncements()
    /// True if the last sweep asked all services, and the bus stayed connected after it.
    var wasAsked = false
    var sweeping: Task<Void, Never>?
    /// The layout of the logs of each service that is not required, and when it changed; nil if it did not.
    var layouts: [String: (layout: LogLayout, changedAt: LoopInstant?)] = [:]

    init(catalog: Catalog) { self.catalog = catalog }

    /// The manifests to write into the file.
    var known: [KnownManifest] {
        catalog.services.compactMap { manifest in
            announcedAt[manifest.service].map { KnownManifest(manifest: manifest, announcedAt: $0) }
        }
    }

    /// - Returns: false if the service is not in the catalog.
    mutating func noteHeard(_ service: String, at now: Timestamp) -> Bool {
        guard catalog.manifests[service] != nil else { return false }
        if heard[service] == nil {
            heard[service] = Heard(since: now, last: now)
        } else {
            heard[service]?.last = now
            heard[service]?.count += 1
        }
        return true
    }

    mutating func forget(_ services: Set<String>) {
        catalog = catalog.removing(services)
        announcedNames.subtract(services)
        for name in services {
            (announcedAt[name], saved[name], heard[name], layouts[name]) = (nil, nil, nil, nil)
        }
    }

    /// Returns the services to forget: those that did not announce themselves for this long, although they were asked.
    /// Required services stay: without one the catalog is not whole, and sockets, lists of rooms and `/api/sync` are
    /// refused.
    mutating func silent(for lifetime: Duration, at now: Timestamp) -> Set<String> {
        // Update the times first, so that a clock that was set forward removes no service.
        for name in announcedNames { announcedAt[name] = now }
        announcedNames = []
        defer { wasAsked = true }
        guard wasAsked else { return [] }
        let oldest = now.adding(.zero - lifetime)
        return Set(
            catalog.manifests.keys.filter { !catalog.isRequired($0) && announcedAt[$0, default: now] < oldest })
    }
}
