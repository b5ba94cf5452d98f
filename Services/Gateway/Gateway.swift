import Contracts
import Edge
import EventLog
import GatewayPresence
import MessageBus
import Reactor
import Security
import ServiceKit
import SocketIO

/// The edge of Parlor: HTTP and Socket.IO for clients, the bus on the other side. It knows of no route, event or badge but by
/// what services announce.
public struct Gateway: Component {
    private let server: EdgeServer
    private let host: String
    let context: GatewayContext
    private let shards: [Shard]
    private let questions: OpenRoomQuestions
    private let sessions: SessionLog

    /// It speaks for clients: it may ask anything, and hears every service's log, those of services that it has never heard of, too.
    /// It serves nothing but the questions to gateways.
    public static let peer = BusPeer(
        "gateway",
        BusRights(
            serve: ["gateways.>"], request: [">"], publish: ["gateways.>", Subject.discover, Subject.status],
            subscribe: [">"]))

    public static let factory = ComponentFactory(settings: GatewaySettings.all, peer: peer) { node in
        try await Gateway.start(in: node)
    }

    public var address: String? { "http://\(host.contains(":") ? "[\(host)]" : host):\(server.port)" }

    static func start(in node: Node, crowd: Crowd = Crowd()) async throws -> Gateway {
        let configuration = node.configuration
        let settings = GatewaySettings(configuration)
        let log = node.log.labelled("gateway")
        let gatewayID = UUIDv7Generator().next(at: node.clock.now().milliseconds)
        // Before anything is kept in it: the key, and what services have announced.
        try DataFolder.make(configuration.text(Setting.data.name))
        let secret = try SecretFile.loadOrCreate(
            configuration.optional(Setting.jwtSecretFile.name) ?? "\(configuration.text(Setting.data.name))/jwt.secret")
        let fanout = Fanout()
        let presence = Presence(gatewayID: gatewayID, bus: node.bus, on: node.group.loops[0], log: log) {
            fanout.deliver($0)
        }
        let missed = MissedEntries(bus: node.bus, log: log)
        let kept = KeptLists()
        node.metrics.gauge("parlor_kept_list_bytes", "Lists of rooms that are kept for those who ask again, in bytes.")
        {
            Double(kept.size)
        }
        let metrics = GatewayMetrics(node.metrics, clock: node.clock)
        let ended = EndedSessions()
        node.metrics.gauge("parlor_ended_sessions", "Ended sessions whose tokens are remembered and refused.") {
            Double(ended.count)
        }
        let sessions = SessionLog(ended, bus: node.bus, on: node.group.loops[0], clock: node.clock, log: log) {
            fanout.endSessions($0)
        }
        let directory = Directory(
            required: Set(settings.requiredServices), bus: node.bus, on: node.group.loops[0],
            file: manifestFile(in: node, log), clock: node.clock, log: log,
            deliver: { stream, entries in
                let broadcasts = entries.map { Broadcast($0, of: stream) }
                kept.note(broadcasts, of: stream)
                if let last = entries.last { metrics.note(last.seq, of: stream) }
                for (entry, broadcast) in zip(entries, broadcasts) {
                    log.debug("fanned out", ["request": entry.requestID ?? "", "stream": stream, "seq": entry.seq])
                    guard let userID = broadcast.endsTypingOf else { continue }
                    let member = RoomMember(roomID: broadcast.roomID, userID: userID)
                    presence.assumeIsolated { $0.endTyping(member) }
                }
                fanout.deliver(broadcasts)
            },
            onStart: { stream, place in
                metrics.note(place.seq, of: stream)
                kept.start(stream, after: place)
                fanout.start(stream, after: place)
                Task {
                    if let missed = await missed.newest(of: stream, to: place) {
                        fanout.backfill(stream, missed.entries, from: missed.start, to: place)
                    }
                }
            },
            onAnnouncement: { manifest in
                presence.learn(manifest)
                sessions.learn(manifest)
            },
            onHead: { sessions.announced($0, $1) }, onForgotten: { presence.forget(service: $0) })
        let bus = BatchingBus(node.bus) { directory.takesBatches(on: $0) }
        let lastKnown = LastKnown()
        let longWork = LongWork()
        let composer = RoomComposer(
            bus: bus, directory: directory, presence: presence, lastKnown: lastKnown, longWork: longWork)
        let context = GatewayContext(
            settings: settings, bus: bus, log: log, metrics: node.metrics, measured: metrics, clock: node.clock,
            directory: directory,
            presence: presence,
            composer: composer,
            lists: RoomLists(
                kept: kept, ends: ReadIndex(missed.client, on: node.group.loops[0]), directory: directory,
                presence: presence,
                lastKnown: lastKnown, longWork: longWork),
            memberships: Memberships(bus),
            tokens: TokenVerifier(keys: JSONWebKeySet([.hs256(secret: secret)]), clock: node.clock, ended: ended),
            limiter: RateLimiter(
                isOn: settings.isLimiting,
                overrides: Dictionary(
                    GatewaySettings.limits.compactMap { name in
                        configuration.rate(GatewaySettings.rateSetting(name)).map { (name, $0) }
                    }, uniquingKeysWith: { first, _ in first })),
            slots: RequestSlots(
                isOn: settings.isLimiting, maxPerPerson: settings.maxRequestsPerPerson,
                maxHeavyPerPerson: settings.maxHeavyRequestsPerPerson),
            cursors: SyncCursorCodec(secret: secret),
            missed: missed, crowd: crowd,
            personSockets: PersonSockets(limit: settings.isLimiting ? settings.maxSocketsPerPerson : .max))
        let shards = node.group.loops.map { Shard(on: $0, context) }
        fanout.shards = shards
        let questions = OpenRoomQuestions(gatewayID: gatewayID, bus: node.bus, fanout: fanout)
        try questions.start()
        try presence.start()
        try directory.start()
        try await node.bus.settle()
        let services = node.services.union(settings.requiredServices)
        let missing = await directory.settle(with: services, within: patienceAtStart)
        if !missing.isEmpty, !Task.isCancelled {
            log.warning(
                "services are not there, or not followed yet", ["names": missing.sorted().joined(separator: ", ")])
        }
        await sessions.settle(within: patienceAtStart)
        let host = configuration.text(Setting.host.name)
        let edge = edge(settings, gatewayID: gatewayID, loops: node.group.loops.count)
        let server = try await EdgeServer.start(
            host: host, port: UInt16(configuration.number(Setting.port.name)), on: node.group,
            configuration: edge,
            onAcceptError: { log.warning("no connection can be accepted", ["error": "\($0)"]) },
            makeDelegate: { loop in ShardDelegate(shards[loop.index]) })
        measure(server, node.metrics)
        log.info(
            "serving",
            [
                "gateway": gatewayID, "port": Int(server.port), "connections": edge.limits.connections.total,
                "buffered": edge.limits.bufferedBytes.total,
            ])
        return Gateway(
            server: server, host: host, context: context, shards: shards, questions: questions, sessions: sessions)
    }

    /// nil where all services are in this process.
    private static func manifestFile(in node: Node, _ log: Logger) -> ManifestFile? {
        if node.bus is InProcessBus { return nil }
        return ManifestFile("\(node.configuration.text(Setting.data.name))/manifests.json", log: log)
    }

    /// Services that are there answer within milliseconds. Without one, what is its own is refused with 503, and the rest served.
    private static let patienceAtStart: Duration = .seconds(1)

    private static func edge(_ settings: GatewaySettings, gatewayID: String, loops: Int) -> EdgeConfiguration {
        let engine = EngineConfiguration(pingInterval: settings.pingInterval, pingTimeout: settings.pingTimeout)
        // A client that was refused sends on until it reads that; it may then connect on the same engine.
        let socketIO = SocketIOConfiguration(outOfPlacePackets: .ignore, acceptsAttachments: false)
        var endpoint = EdgeEndpoint(path: "/socket.io/", .socketIO(engine, socketIO))
        endpoint.takesMissingVersion = true
        var configuration = EdgeConfiguration(endpoints: [endpoint])
        configuration.limits = settings.edgeLimits(
            descriptors: DescriptorLimit.raise(), memory: MemoryLimit.bytes, loops: loops)
        configuration.maxPendingBytes = settings.maxPendingBytes
        configuration.writeTimeout = settings.writeTimeout
        configuration.trustedProxies = settings.trustedProxies
        configuration.instance = gatewayID.filter { $0 != "-" }
        return configuration
    }

    private static func measure(_ server: EdgeServer, _ metrics: Metrics) {
        let counters = server.counters
        metrics.gauge("parlor_connections", "Open connections, of HTTP and WebSocket.") {
            Double(counters.connections.value)
        }
        metrics.gauge("parlor_sockets", "Open Engine.IO sessions.") { Double(counters.sockets.value) }
        metrics.counter("parlor_http_requests_total", "HTTP requests.") { counters.requests.value }
        metrics.counter("parlor_slow_closes_total", "Clients cut off because they did not read.") {
            counters.slowCloses.value
        }
        metrics.counter("parlor_dropped_packets_total", "Signs of typing not sent to clients that were behind.") {
            counters.dropped.value
        }
        metrics.gauge("parlor_pending_sockets", "Open sockets that have not connected to a namespace.") {
            Double(counters.pendingSockets)
        }
        metrics.gauge("parlor_buffered_bytes", "Unfinished requests and unread answers, in bytes.") {
            Double(counters.bufferedBytes)
        }
        for (what, refusals) in [
            ("connection", counters.refusedConnections), ("socket", counters.refusedSockets),
            ("bytes", counters.refusedBytes),
        ] {
            for (scope, count) in [("all", refusals.total), ("address", refusals.perAddress)] {
                let (name, help) = GatewayMetrics.refused
                metrics.counter(name, help, labels: ["what": what, "limit": scope]) { count.value }
            }
        }
    }

    /// As `/readyz` on the clients' port says it, where that is shown.
    public func isHealthy() async -> Bool { await context.missingServices().isEmpty }

    public func status() async -> ComponentStatus? {
        let counters = server.counters
        let places = await shards[0].recent.places
        return ComponentStatus(
            part: "gateway",
            figures: [
                .init("sockets", counters.sockets.value), .init("connections", counters.connections.value),
                .init("requests", counters.requests.value), .init("slow closes", counters.slowCloses.value),
            ], places: places.sorted { $0.key < $1.key }.map { .init($0.key, $0.value.seq) })
    }

    /// Answers what is open, and closes sockets so that clients come back, to another gateway or the next one.
    public func stop(within deadline: Duration) async {
        for shard in shards { await shard.endGlobals() }
        await server.drain(within: deadline)
        questions.stop()
        sessions.stop()
        await context.directory.stop()
        await context.presence.stop()
    }
}
