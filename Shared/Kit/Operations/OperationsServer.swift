import ParlorEdge
import ParlorHTTP
import ParlorReactor
import ParlorServiceKit

extension ComponentFactory {
    /// The endpoints for operators, if `OPS_PORT` is set. It must be the last of a program's components, as
    /// it watches all before it.
    public static let operations = ComponentFactory(
        settings: [OperationsServer.port, OperationsServer.host]
    ) { node, running in
        guard let port = node.configuration[OperationsServer.port] else { return nil }
        return try await OperationsServer.start(for: running, on: port, in: node)
    }
}

/// A server of the endpoints for operators and health checks: `/healthz`, `/readyz` and `/metrics`, on a port
/// of its own.
struct OperationsServer: Component {
    static let port = Setting(
        "OPS_PORT", .port, in: .listen, "Port for this process's /healthz, /readyz and /metrics")
    static let host = Setting(
        "OPS_HOST", .text, default: "127.0.0.1", in: .listen,
        "Address of that port; it needs no login, so keep it on an internal network")

    private let server: EdgeServer

    var address: String? { nil }

    /// The limit of connections, enough for health checks and a few scrapers. At the limit, a new one evicts an
    /// idle one (`EdgeLimits`), so that one peer with many idle connections does not lock others out.
    private static let maxConnections = 32

    static func start(
        for components: [any Component], on port: UInt16, in node: Node
    ) async throws -> OperationsServer {
        var configuration = EdgeConfiguration(endpoints: [])
        configuration.limits.connections = .init(total: maxConnections, perAddress: nil)
        configuration.limits.bufferedBytes = .init(total: 8 << 20, perAddress: nil)
        configuration.limits.loopTimePerAddress = 25
        configuration.http.maxBodyBytes = 0
        let server = try await EdgeServer.start(
            host: node.configuration[host], port: port, on: node.group, configuration: configuration
        ) { _ in (OperationsDelegate(components: components, metrics: node.metrics), nil) }
        return OperationsServer(server: server)
    }

    func isHealthy() async -> Bool { true }

    func stop(within deadline: Duration) async { await server.drain(within: deadline) }
}

private final class OperationsDelegate: RequestDelegate {
    private let components: [any Component]
    private let metrics: Metrics

    init(components: [any Component], metrics: Metrics) {
        self.components = components
        self.metrics = metrics
    }

    func respond(to request: HTTPRequest, from client: IPAddress, using responder: HTTPResponder) {
        switch (request.method, request.path) {
        case ("GET", "/healthz"): responder.send(.text("ok\n"))
        case ("GET", "/metrics"): responder.send(.metrics(metrics))
        case ("GET", "/readyz"):
            let components = components
            Task {
                var isReady = true
                for component in components where !(await component.isHealthy()) { isReady = false }
                let (text, status) = isReady ? ("ready", 200) : ("not ready", 503)
                responder.loop.execute { responder.send(.text("\(text) \(Release.version)\n", status: status)) }
            }
        default: responder.send(.text("There is nothing here.\n", status: 404))
        }
    }
}

extension HTTPResponse {
    public static func text(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: ["Content-Type": "text/plain; charset=utf-8"], body: Array(text.utf8))
    }

    public static func metrics(_ metrics: Metrics) -> HTTPResponse {
        HTTPResponse(
            status: 200, headers: ["Content-Type": "text/plain; version=0.0.4; charset=utf-8"],
            body: metrics.page())
    }
}
