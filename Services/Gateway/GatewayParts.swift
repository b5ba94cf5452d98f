import ParlorAPIDocuments
import ParlorContracts
import ParlorDelivery
import ParlorEventLog
import ParlorGatewayCatalog
import ParlorGatewayEdge
import ParlorGatewayLimits
import ParlorGatewayPresence
import ParlorMessageBus
import ParlorReactor
import ParlorRoomViews
import ParlorSecurity
import ParlorServiceClient
import ParlorServiceKit
import ParlorWebPage

/// The parts of a gateway, wired: those of the whole process, and one delivery and two fronts for each loop.
/// Parts that need one fixed loop are on the first.
struct GatewayParts: Sendable {
    let fanout = Fanout()
    let cache = RoomListCache()
    let fieldCache = FieldCache()
    let operations: OperationsEndpoint
    let http: [HTTPFront]
    let sockets: [SocketFront]
    private let fronts: SocketFronts
    private let directory: Directory
    private let presence: Presence
    private let sessions: SessionLog
    private let openRooms: OpenRoomsResponder
    private let fences: FenceResponder
    let lease: OutputLease
    private let loop: EventLoop
    private let operators: OperatorRequests

    /// The limit for waiting at the start. Running services reply within milliseconds. If one is missing, its
    /// requests are refused with 503, and all others served.
    private static let timeAtStart: Duration = .seconds(1)

    init(
        _ node: Node, gatewayID: String, secret: [UInt8], pacing: BroadcastPacing, announcementPause: Duration,
        manifests: ManifestFile?, log: Logger
    ) {
        let settings = node.configuration
        let isLimiting = settings[.rateLimits]
        let requiredServices = settings[.requiredServices]
        let requestTimeout = settings[GatewaySettings.requestTimeout]
        let showsOperations = settings[GatewaySettings.showsOperations]
        let (loop, fanout, cache, fieldCache) = (node.group.loops[0], self.fanout, self.cache, self.fieldCache)
        let faults = ReplyFaults(log: log)
        let emitters = Emitters(log: log)
        let missed = EntryFetcher(bus: node.bus, faults: faults, emitters: emitters)
        let deliveryMetrics = DeliveryMetrics(node.metrics, clock: node.clock)
        let edgeMetrics = EdgeMetrics(node.metrics)

        // Presence and the services' announcements.
        let memberships = Memberships(node.bus)
        let lease = OutputLease(
            bus: node.bus, fanout: fanout, memberships: memberships, entries: missed, log: log)
        self.lease = lease
        let presence = Presence(
            gatewayID: gatewayID, bus: node.bus, on: loop, log: log, onOwnHeartbeat: { lease.renew($0) },
            announce: { fanout.deliver($0) })
        let ended = EndedSessions()
        let fronts = SocketFronts()
        let sessions = SessionLog(ended, bus: node.bus, on: loop, clock: node.clock, log: log, faults: faults) {
            fronts.endSessions($0)
        }
        let pipeline = LogPipeline(
            to: fanout, cache: cache, fields: fieldCache, presence: presence, missed: missed, metrics: deliveryMetrics,
            log: log)
        let directory = Directory(
            catalog: Catalog(required: Set(requiredServices), listedChecks: settings[GatewaySettings.checks]),
            bus: node.bus, on: loop, file: manifests, clock: node.clock, log: log, faults: faults,
            announcementPause: announcementPause, logs: pipeline,
            onAnnouncement: { manifest in
                presence.learn(manifest)
                sessions.learn(manifest)
            },
            onHead: { sessions.announced($0, $1) },
            onForgotten: { service in
                presence.forget(service: service)
                sessions.forget(service)
            })
        emitters.follow { [weak directory] in directory?.catalog }
        let services = RequestForwarder(
            bus: node.bus, directory: directory, requestTimeout: requestTimeout, faults: faults)
        let checks = RequestChecks(bus: node.bus, metrics: node.metrics, log: log)
        let limits = Limits(
            RateLimiter(isOn: isLimiting, overrides: settings.rateOverrides),
            RequestSlots(isOn: isLimiting), metrics: node.metrics)

        // Rooms, messages and people, as people see them.
        let longWork = LongWork()
        let fields = ContributedFields(
            bus: services.bus, faults: faults, directory: directory, cache: fieldCache, rooms: cache,
            // Fields have a read index of their own, with a shorter wait. Callers of a read index wait together, so one
            // log's owner that does not reply delays all of them.
            readIndex: ReadIndex(missed.client, on: loop, maxWait: .milliseconds(250)), longWork: longWork)
        let composer = RoomComposer(
            bus: services.bus, faults: faults, directory: directory, presence: presence, cache: cache,
            longWork: longWork)
        let lists = RoomLists(
            cache: cache, readIndex: ReadIndex(missed.client, on: loop), composer: composer, fields: fields,
            directory: directory, services: services,
            presence: presence, limits: limits, longWork: longWork)

        // Events to clients.
        let cursors = SyncCursorCodec(secret: secret)
        let events = EventComposer(
            composer, RoomBadges(composer: composer, cache: cache, directory: directory))
        let recovery = Recovery(
            cursors: cursors, missed: missed, events: events, limits: limits, requestTimeout: requestTimeout,
            maxUnsentBytes: settings[GatewaySettings.maxUnsentBytes], log: log)
        fanout.loops = node.group.loops.map { loop in
            LoopDelivery(
                on: loop, directory: directory, events: events, recovery: recovery, presence: presence,
                globalScope: settings[GatewaySettings.globalScope], gate: lease.gate, pacing: pacing,
                metrics: deliveryMetrics, log: log)
        }

        // Requests and events of clients.
        let tokens = TokenVerifier(
            keys: JSONWebKeySet([.hs256(secret: secret)]), clock: node.clock, ended: ended)
        let admission = Admission(limits: limits, tokens: tokens, isLimiting: isLimiting)
        let sync = SyncEndpoint(
            directory: directory, admission: admission, cursors: cursors, missed: missed, lists: lists,
            events: events, longWork: longWork)
        let operations = OperationsEndpoint(
            services: services, requiredServices: requiredServices, metrics: node.metrics)
        fences = FenceResponder(
            gatewayID: gatewayID, bus: node.bus, fanout: fanout, presence: presence, memberships: memberships,
            cache: cache)
        let joins = RoomJoins(
            directory: directory, checks: checks, composer: composer, cache: cache, presence: presence,
            memberships: memberships)
        let personSockets = PersonSockets(limit: isLimiting ? settings[GatewaySettings.maxSocketsPerPerson] : .max)
        let showsPage = settings[GatewaySettings.webClient]
        let page = showsPage ? WebPage.find(readingOn: longWork.executor) : nil
        if showsPage, page == nil {
            log.warning(
                "the web client is not installed: / is 404",
                ["setting": "WEB_CLIENT", "folder": WebPage.installedFolder ?? ""])
        }
        let routes = OwnRoute.all(showsOperations: showsOperations, page: page)
        let documents = APIDocuments(
            .gateway(routes), directory: directory, services: services, on: longWork.executor, log: log)
        let own = OwnEndpoints(routes, operations: operations, sync: sync, documents: documents, page: page)
        http = fanout.loops.map { delivery in
            HTTPFront(
                delivery, directory: directory, admission: admission, services: services, checks: checks,
                composer: composer, lists: lists, fields: fields, own: own, metrics: edgeMetrics, log: log)
        }
        sockets = fanout.loops.map { delivery in
            let events = EventFront(
                delivery, directory: directory, services: services, checks: checks, limits: limits, joins: joins,
                composer: composer,
                metrics: edgeMetrics, log: log)
            return SocketFront(
                events, directory: directory, admission: admission, presence: presence, personSockets: personSockets,
                metrics: edgeMetrics, clock: node.clock, log: log)
        }
        fronts.all = sockets
        self.fronts = fronts
        self.operations = operations
        self.directory = directory
        self.presence = presence
        self.loop = loop
        self.sessions = sessions
        openRooms = OpenRoomsResponder(gatewayID: gatewayID, bus: node.bus, fanout: fanout)
        operators = OperatorRequests(gatewayID: gatewayID, bus: node.bus, directory: directory, log: log)

        node.metrics.gauge("parlor_cached_list_bytes", "Size of cached lists of rooms, in bytes.") {
            Double(cache.size)
        }
        node.metrics.gauge("parlor_cached_field_bytes", "Size of cached fields of messages and people, in bytes.") {
            Double(fieldCache.size)
        }
        node.metrics.gauge("parlor_ended_sessions", "Ended sessions whose tokens are refused.") {
            Double(ended.count)
        }
    }

    /// Starts the parts, and waits for the bus for as long as it takes. Then it waits until these services, and all
    /// others that are known to have a log, are followed. After that it waits until the changes of rooms' people are known, and
    /// for the list of ended sessions. Each of these three waits lasts at most a second.
    func start(for services: Set<String>, on bus: any MessageBus, _ log: Logger) async throws {
        try openRooms.start()
        try fences.start()
        lease.start(on: loop)
        try presence.start()
        try directory.start()
        try operators.start()
        try await bus.settle()
        let missing = await directory.settle(with: services, within: Self.timeAtStart)
        if !missing.isEmpty, !Task.isCancelled {
            log.warning(
                "services are down, or not followed yet", ["names": missing.sorted().joined(separator: ", ")])
        }
        await fanout.settle(within: Self.timeAtStart)
        await sessions.settle(within: Self.timeAtStart)
    }

    /// Stops the parts, after the last client has left.
    func stop() async {
        openRooms.stop()
        fences.stop()
        operators.stop()
        sessions.stop()
        await directory.stop()
        await presence.stop()
        await lease.stop()
        // Break a reference cycle: the directory's closures hold these objects, and they hold the directory.
        fanout.loops = []
        fronts.all = []
    }
}
