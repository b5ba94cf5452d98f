import ParlorContracts
import ParlorDelivery
import ParlorEdge
import ParlorGatewayCatalog
import ParlorGatewayEdge
import ParlorMessageBus
import ParlorReactor
import ParlorSecurity
import ParlorServiceKit
import ParlorSocketIO

/// The edge of Parlor: HTTP and Socket.IO for clients, the bus on the other side. It knows routes, events and
/// badges only from services' announcements.
public struct Gateway: Component {
    private let server: EdgeServer
    private let host: String
    let parts: GatewayParts

    /// The gateway's rights. It sends requests for clients, so it may request anything. It subscribes to
    /// every service's log, including services that it does not know yet. It answers only the requests to
    /// gateways.
    public static let peer = BusPeer(
        "gateway",
        BusRights(
            serve: ["gateways.>"], request: [">"], publish: ["gateways.>", Subject.discover, Subject.status],
            subscribe: [">"]))

    public static let factory = ComponentFactory(settings: GatewaySettings.all, peer: peer) { node, _ in
        try await Gateway.start(in: node)
    }

    public var address: String? { "http://\(host.contains(":") ? "[\(host)]" : host):\(server.port)" }

    static func start(
        in node: Node, pacing: BroadcastPacing = BroadcastPacing(),
        announcementPause: Duration = AnnouncementThrottle.pause
    ) async throws -> Gateway {
        let settings = node.configuration
        let log = node.log.labelled("gateway")
        let gatewayID = UUIDv7Generator().next(at: node.clock.now().milliseconds)
        // Create the folder before anything is stored in it: the key, and services' announcements.
        try DataFolder.make(settings[.data])
        let parts = GatewayParts(
            node, gatewayID: gatewayID, secret: try secret(settings), pacing: pacing,
            announcementPause: announcementPause, manifests: manifestFile(in: node, log), log: log)
        let checking = settings[GatewaySettings.checks]?.items.map(\.service) ?? []
        try await parts.start(
            for: node.services.union(settings[.requiredServices]).union(checking), on: node.bus, log)
        let host = settings[.host]
        if settings[GatewaySettings.trustedProxies]?.contains(where: \.isWiderThanPrivate) == true {
            log.warning("TRUSTED_PROXIES has a wide range: clients in it choose the address that their limits count")
        }
        var edge = edge(settings, gatewayID: gatewayID, loops: node.group.loops.count)
        edge.outputGate = parts.lease.gate
        let server = try await EdgeServer.start(
            host: host, port: settings[.port], on: node.group,
            configuration: edge,
            onAcceptError: { log.warning("no connection can be accepted", ["error": "\($0)"]) },
            makeDelegates: { loop in (parts.http[loop.index], parts.sockets[loop.index]) })
        measure(server, node.group.loops, node.metrics)
        log.info(
            "serving",
            [
                "gateway": gatewayID, "port": Int(server.port), "connections": edge.limits.connections.total,
                "buffered": edge.limits.bufferedBytes.total,
            ])
        return Gateway(server: server, host: host, parts: parts)
    }

    private static func secret(_ configuration: Configuration) throws -> [UInt8] {
        try SecretFile.loadOrCreate(
            configuration[.jwtSecretFile] ?? "\(configuration[.data])/jwt.secret")
    }

    /// Returns the file of manifests; nil if all services are in this process.
    private static func manifestFile(in node: Node, _ log: Logger) -> ManifestFile? {
        if node.bus is InProcessBus { return nil }
        return ManifestFile("\(node.configuration[.data])/manifests.json", log: log)
    }

    private static func edge(_ settings: Configuration, gatewayID: String, loops: Int) -> EdgeConfiguration {
        let engine = EngineConfiguration(
            pingInterval: settings[GatewaySettings.pingInterval], pingTimeout: settings[GatewaySettings.pingTimeout])
        // A client that was refused continues to send until it reads the refusal; it may then connect on the
        // same engine.
        let socketIO = SocketIOConfiguration(unexpectedPackets: .ignore, acceptsAttachments: false)
        var endpoint = EdgeEndpoint(path: "/socket.io/", .socketIO(engine, socketIO))
        endpoint.takesMissingVersion = true
        var configuration = EdgeConfiguration(endpoints: [endpoint])
        configuration.limits = settings.edgeLimits(
            descriptors: DescriptorLimit.raise(), memory: MemoryLimit.bytes, loops: loops)
        configuration.maxUnsentBytes = settings[GatewaySettings.maxUnsentBytes]
        configuration.idleTimeout = settings[GatewaySettings.idleTimeout]
        configuration.trustedProxies = settings[GatewaySettings.trustedProxies] ?? []
        configuration.allowedOrigins = settings[GatewaySettings.allowedOrigins]
        configuration.sharedPaths = ["/api"]
        configuration.instance = gatewayID.filter { $0 != "-" }
        return configuration
    }

    private static func measure(_ server: EdgeServer, _ loops: [EventLoop], _ metrics: Metrics) {
        let counters = server.counters
        metrics.counter("parlor_socket_writes_total", "System calls that write, to clients and to the bus.") {
            loops.reduce(0) { $0 + $1.counters.writes.value }
        }
        metrics.gauge("parlor_connections", "Open connections, of HTTP and WebSocket.") {
            Double(counters.connections.value)
        }
        metrics.gauge("parlor_sockets", "Open sockets.") { Double(counters.sockets.value) }
        metrics.counter("parlor_http_requests_total", "HTTP requests.") { counters.requests.value }
        metrics.counter("parlor_slow_closes_total", "Clients disconnected because they read too slowly.") {
            counters.slowCloses.value
        }
        metrics.counter("parlor_dropped_packets_total", "Typing and presence updates dropped for slow clients.") {
            counters.dropped.value
        }
        metrics.gauge("parlor_unconnected_sockets", "Sockets that have not connected to a namespace.") {
            Double(counters.unconnectedSockets)
        }
        metrics.gauge("parlor_buffered_bytes", "Unfinished requests and unread answers, in bytes.") {
            Double(counters.bufferedBytes)
        }
        let (name, help) = EdgeMetrics.refused
        for (what, refusals) in [
            ("connection", counters.refusedConnections), ("socket", counters.refusedSockets),
            ("bytes", counters.refusedBytes),
        ] {
            for (scope, count) in [("all", refusals.total), ("address", refusals.perAddress)] {
                metrics.counter(name, help, labels: ["what": what, "limit": scope]) { count.value }
            }
        }
        metrics.counter(name, help, labels: ["what": "bytes", "limit": "person"]) {
            counters.refusedBytes.perPerson.value
        }
    }

    /// Returns true if all required services reply, like `/readyz` on the clients' port.
    public func isHealthy() async -> Bool { await parts.operations.missingServices().isEmpty }

    public func status() async -> ComponentStatus? {
        let counters = server.counters
        let positions = await parts.fanout.loops.first?.positions ?? [:]
        return ComponentStatus(
            part: "gateway",
            figures: [
                .init("sockets", counters.sockets.value), .init("connections", counters.connections.value),
                .init("requests", counters.requests.value), .init("slow closes", counters.slowCloses.value),
            ], positions: positions.sorted { $0.key < $1.key }.map { .init($0.key.name, $0.value.seq) })
    }

    /// Answers open requests, and closes sockets. Clients then reconnect to another gateway, or to this one
    /// after its restart.
    public func stop(within deadline: Duration) async {
        for delivery in parts.fanout.loops { await delivery.endPauses() }
        await server.drain(within: deadline)
        await parts.stop()
    }
}
