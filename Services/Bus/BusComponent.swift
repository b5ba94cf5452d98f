import ParlorMessageBus
import ParlorReactor
import ParlorServiceKit

extension ComponentFactory {
    /// The factory of the broker, configured by its settings.
    public static let bus = ComponentFactory(
        settings: [Setting.host, port, Setting.busTokenFile, peersFile, maxUnsentBytes], peer: .operator
    ) { node, _ in
        let configuration = node.configuration
        var settings = BrokerSettings()
        settings.access = try configuration.brokerAccess
        settings.maxUnsentBytes = configuration[maxUnsentBytes]
        let log = node.log
        let server = try await BusServer.start(
            host: configuration[.host], port: configuration[port], settings: settings
        ) { log.record($0) }
        server.measure(in: node.metrics)
        // Without a table there is nothing to read again, and SIGHUP ends the process, as by default.
        if configuration[peersFile] != nil {
            try Hangups.handle {
                do throws(ConfigurationError) {
                    server.admit(by: try configuration.brokerAccess)
                    log.info("peers read again")
                } catch {
                    log.warning("peers not read again", ["reason": "\(error)"])
                }
            }
        }
        return BusComponent(server: server)
    }

    fileprivate static let peersFile = Setting(
        "BUS_PEERS_FILE", .path, in: .bus,
        "File with a line for each peer: its token's digest and its rights; used instead of BUS_TOKEN_FILE")
    private static let port = Setting(
        "BUS_PORT", oldName: "PORT", .port, default: "4150", in: .bus,
        "The port that the bus listens on; 0 picks a free one")
    private static let maxUnsentBytes = Setting(
        "BUS_MAX_PENDING_BYTES", oldName: "MAX_PENDING_BYTES", .size((2 * BusLimits.maxLine)...(1 << 30)),
        default: "8m", in: .bus,
        "Maximum bytes queued for one peer; beyond it the peer is disconnected")
}

extension Configuration {
    fileprivate var brokerAccess: BrokerAccess {
        get throws(ConfigurationError) {
            let token = try busToken
            let setting = ComponentFactory.peersFile
            guard let path = self[setting] else { return token.map { .token($0) } ?? .open }
            // A token with all rights in addition would make the table useless.
            guard token == nil else { throw .malformed("set BUS_TOKEN_FILE or BUS_PEERS_FILE, not both") }
            let text = try secret(path, of: setting, minLength: 0, maxLength: BusPeerTable.maxSize)
            return .peers(try BusPeerTable(text, from: path))
        }
    }
}

/// The broker as a component.
struct BusComponent: Component {
    let server: BusServer

    var address: String? { server.url }

    func isHealthy() async -> Bool { true }

    func stop(within deadline: Duration) async { await server.drain(timeout: deadline) }
}

extension Logger {
    fileprivate func record(_ notice: BrokerNotice) {
        switch notice {
        case .joined(let peer): info("peer joined", ["peer": peer])
        case .left(let peer): info("peer left", ["peer": peer])
        case .cut(let peer, let code): warning("peer cut off", ["peer": peer, "code": code])
        case .forbidden(let peer, let operation, let subject):
            warning("forbidden", ["peer": peer, "operation": operation.rawValue, "subject": subject])
        }
    }
}

extension BusServer {
    fileprivate func measure(in metrics: Metrics) {
        func gauge(_ name: String, _ help: String, _ value: KeyPath<BrokerCounters, Int> & Sendable) {
            metrics.gauge(name, help) { [self] in Double(counters[keyPath: value]) }
        }
        func counter(_ name: String, _ help: String, _ value: KeyPath<BrokerCounters, Int> & Sendable) {
            metrics.counter(name, help) { [self] in counters[keyPath: value] }
        }
        gauge("bus_peers", "Connections now", \.peers)
        gauge("bus_subscriptions", "Subscriptions now", \.subscriptions)
        gauge("bus_requests_in_flight", "Requests that wait for their replies now", \.requestsInFlight)
        counter("bus_lines_received_total", "Lines that peers sent", \.received)
        counter("bus_messages_delivered_total", "Events and requests passed on", \.delivered)
        counter("bus_delivered_bytes_total", "Bytes of data in the events and requests passed on", \.deliveredBytes)
        counter("bus_requests_total", "Requests", \.requests)
        counter("bus_no_responders_total", "Requests without a responder", \.noResponders)
        counter("bus_deadlines_exceeded_total", "Requests without a reply in time", \.deadlinesExceeded)
        counter("bus_malformed_total", "Lines that made no sense", \.malformed)
        counter("bus_slow_consumers_total", "Peers cut off for not reading", \.slowConsumers)
        counter("bus_holds_total", "Times that a sender had to wait for a slow receiver", \.holds)
        counter("bus_throttled_total", "Times that a sender had to wait because of its rate", \.throttled)
        counter("bus_refused_peers_total", "Connections that never got past hello", \.refusedPeers)
        counter("bus_forbidden_total", "Lines refused because the peer has no right to them", \.forbidden)
    }
}
