import Contracts
import Delivery
import Edge
import GatewayCatalog
import GatewayLimits
import Reactor
import ServiceKit

/// The gateway's settings, read once.
struct GatewaySettings: Sendable {
    let globalScope: GlobalScope
    let pingInterval: Duration
    let pingTimeout: Duration
    let requestTimeout: Duration
    let maxUnsentBytes: Int
    let writeTimeout: Duration
    let idleTimeout: Duration
    let requiredServices: [String]
    /// nil: the checks that services declare.
    let listedChecks: CheckList?
    /// The services of the listed checks.
    var listedServices: Set<String> { Set(listedChecks?.items.map(\.service) ?? []) }
    let trustedProxies: [IPNetwork]
    let showsOperations: Bool
    let showsPage: Bool
    let allowedOrigins: AllowedOrigins
    private let connections: EdgeLimits.Limit
    private let connectedSocketsPerAddress: Int
    private let unconnectedSockets: EdgeLimits.Limit
    private let bufferedBytes: EdgeLimits.Limit
    private let loopTimePerAddress: Int
    /// True if rate limits apply to people and addresses.
    let isLimiting: Bool
    let maxRequestsPerPerson: Int
    let maxHeavyRequestsPerPerson: Int
    let maxSocketsPerPerson: Int
    /// Overrides of the limits' own numbers, by name.
    let rateOverrides: [String: Rate]

    /// The limits that have a setting `RATE_<NAME>`: those of Parlor's services, and the gateway's own. `SERVICE_RATES`
    /// is for those of added services. `counted(by:)` has a text for each.
    static let limits =
        ["rooms", "sends", "elements", "devices", "register", "login", "sign_ins", "refresh"]
        + OwnLimits.all.map(\.name)

    static let globalScope = Setting(
        "GLOBAL_SCOPE", .choice(GlobalScope.self), default: "everyone",
        "Receivers of `:global` events: everyone (all connected sockets) or participants (of the room)")
    static let pingInterval = Setting(
        "PING_INTERVAL", .duration(.milliseconds(100)...(.seconds(3600))), default: "25s",
        "Interval between pings to a socket; above 30s, push may notify people who have the room open")
    static let pingTimeout = Setting(
        "PING_TIMEOUT", .duration(.milliseconds(100)...(.seconds(3600))), default: "20s",
        "How long a client may take to answer a ping")
    static let requestTimeout = Setting(
        "REQUEST_TIMEOUT", .duration(.milliseconds(100)...(.seconds(60))), default: "4s",
        "Deadline of a request; after it the answer is 503, or an ack marked retryable")
    /// The minimum leaves room for a replay: its backlog, what is replayed from memory, and a large event (an element
    /// of 64 KiB).
    static let maxPendingBytes = Setting(
        "MAX_PENDING_BYTES", .size((256 << 10)...(1 << 30)), default: "1m",
        "Maximum bytes queued for one socket; beyond it the slow reader is disconnected")
    static let writeTimeout = Setting(
        "WRITE_TIMEOUT", .duration(.seconds(1)...(.seconds(600))), default: "10s",
        "How long a socket may accept no data before it is disconnected")
    static let idleTimeout = Setting(
        "IDLE_TIMEOUT", .duration(.seconds(1)...(.seconds(3600))), default: "75s",
        "How long a connection may be idle between two requests; longer than the proxy in front keeps it")
    static let maxConnections = Setting(
        "MAX_CONNECTIONS", .number(0...1_000_000), default: "0",
        "Maximum open connections; 0: as descriptors and memory allow")
    static let maxConnectionsPerAddress = Setting(
        "MAX_CONNECTIONS_PER_ADDRESS", .number(0...1_000_000), default: "0",
        "Maximum connections of one address that have no connected socket; 0: a quarter of all, at most 1000")
    static let maxSocketsPerAddress = Setting(
        "MAX_SOCKETS_PER_ADDRESS", .number(0...1_000_000), default: "0",
        "Maximum connected sockets of one address; further ones count as connections without a connected socket; 0: a quarter of the connections"
    )
    static let maxPendingSockets = Setting(
        "MAX_PENDING_SOCKETS", .number(0...1_000_000), default: "0",
        "Maximum sockets without an accepted CONNECT; 0: half of the connections")
    static let maxPendingSocketsPerAddress = Setting(
        "MAX_PENDING_SOCKETS_PER_ADDRESS", .number(0...1_000_000), default: "0",
        "Maximum sockets of one address without an accepted CONNECT; 0: an eighth of the connections, at most 500")
    static let maxBufferedBytes = Setting(
        "MAX_BUFFERED_BYTES", .size(0...(1 << 40)), default: "0",
        "Maximum bytes buffered for all clients: unfinished requests and unread answers; 0: a quarter of the memory, at most 128m"
    )
    static let maxBufferedBytesPerAddress = Setting(
        "MAX_BUFFERED_BYTES_PER_ADDRESS", .size(0...(1 << 40)), default: "0",
        "Maximum bytes buffered for one address or person; 0: a quarter of MAX_BUFFERED_BYTES")
    static let maxLoopTimePerAddress = Setting(
        "MAX_LOOP_TIME_PER_ADDRESS", .number(1...100), default: "25",
        "Maximum share of each event loop's time for one address, in percent")
    static let trustedProxies = Setting(
        "TRUSTED_PROXIES", .networks,
        "Proxies whose X-Forwarded-For is trusted, such as 10.0.0.1,10.1.0.0/16; default: none")
    static let showsOperations = Setting(
        "PUBLIC_OPERATIONS", .onOrOff, default: "on",
        "Serve /readyz and /metrics on the clients' port as well as on OPS_PORT")
    static let webClient = Setting(
        "WEB_CLIENT", .onOrOff, default: "on", "Serve the web client at /")
    static let allowedOrigins = Setting(
        "ALLOWED_ORIGINS", .origins, default: "*",
        "Origins whose pages may use /api and /socket.io/, such as https://app.example,https://beta.example; *: all")
    static let maxSocketsPerPerson = Setting(
        "MAX_SOCKETS_PER_PERSON", .number(1...100_000), default: "100",
        "Maximum sockets of one person on a gateway; one more disconnects the oldest")
    static let requiredServices = Setting(
        "REQUIRED_SERVICES", .services, default: "accounts,rooms,messaging,elements",
        "Services that must be there: /readyz requires them, and sockets and lists of rooms get 503 until each has announced itself"
    )
    static let checks = Setting(
        "CHECKS", .checks,
        "Checks to enforce, such as words:messaging.send,words:room:join, or none; a request gets 503 while a service that must check it is away or unknown; default: those that services declare"
    )
    static let maxRequestsPerPerson = Setting(
        "MAX_REQUESTS_PER_PERSON", .number(1...10_000), default: "32",
        "Maximum HTTP requests of one person in progress on a gateway")
    static let maxHeavyRequestsPerPerson = Setting(
        "MAX_HEAVY_REQUESTS_PER_PERSON", .number(1...1000), default: "2",
        "Maximum heavy requests of one person in progress, including replays to sockets; further ones wait")

    static let serviceRates = Setting(
        "SERVICE_RATES", .rates(except: limits),
        "Rates of the limits that added services declare, such as polls=60/10s,600/10s;votes=9/1m,90/1m; default: the services'"
    )

    static let all: [any AnySetting] = own + limits.map { rate(of: $0) }

    private static let own: [any AnySetting] = [
        Setting.host, Setting.port, Setting.data, Setting.jwtSecretFile, globalScope, pingInterval, pingTimeout,
        requestTimeout, maxPendingBytes, writeTimeout, idleTimeout, maxConnections, maxConnectionsPerAddress,
        maxSocketsPerAddress, maxPendingSockets,
        maxPendingSocketsPerAddress, maxBufferedBytes, maxBufferedBytesPerAddress, maxLoopTimePerAddress,
        trustedProxies, showsOperations, webClient, allowedOrigins, maxSocketsPerPerson, requiredServices,
        checks, maxRequestsPerPerson, maxHeavyRequestsPerPerson, Setting.rateLimits, serviceRates,
    ]

    /// Returns the setting of a limit; nil stands for the numbers that the service declares.
    static func rate(of limit: String) -> Setting<Rate?> {
        Setting("RATE_" + limit.uppercased(), .rate, description(of: limit))
    }

    /// Returns what the limit counts, with its default in the form that `--help` shows for every setting.
    private static func description(of limit: String) -> String {
        let line = "\(counted(by: limit)), \(scope(of: limit))"
        guard let own = OwnLimits.all.first(where: { $0.name == limit }) else {
            return "\(line); default: the service's"
        }
        return "\(line) [\(text(of: own))]"
    }

    private static func counted(by limit: String) -> String {
        switch limit {
        case "rooms": "Rooms created or renamed"
        case "sends": "Messages sent"
        case "elements": "Changes of elements"
        case "devices": "Devices registered or removed"
        case "register": "Registrations"
        case "login": "Wrong passwords"
        case "sign_ins": "Sign-ins and password changes, successful ones included"
        case "refresh": "Token refreshes, and sessions listed or ended"
        case "joins": "Joins of rooms"
        case "typing": "Typing events"
        case "sync": "Requests for missed events"
        case "requests": "HTTP requests"
        case "reads": "Reads without a limit of their own"
        case "writes": "Changes without a limit of their own"
        case "connects": "Connects of sockets"
        case "unknown": "Requests for what does not exist"
        case "lists": "Rooms composed for lists that the cache could not answer"
        case "bytes": "Bytes written"
        default: preconditionFailure("counted(by:) has no text for the limit \(limit)")
        }
    }

    private static func scope(of limit: String) -> String {
        switch limit {
        case "requests", "register": "per address; the first number, per person, is ignored"
        case "refresh": "per person and per address; a token refresh only per address"
        case "unknown": "per person and per address; an unknown route only per address"
        case "login", "sign_ins": "per address, and at a password change also per person"
        default: "per person and per address"
        }
    }

    /// Returns a limit in the form of its setting: `60/10s,600/10s`.
    private static func text(of limit: RateLimit) -> String {
        let window = limit.seconds % 3600 == 0 ? "\(limit.seconds / 3600)h" : "\(limit.seconds)s"
        func count(_ number: Int) -> String { number % (1 << 20) == 0 ? "\(number >> 20)m" : "\(number)" }
        return "\(count(limit.perPerson))/\(window),\(count(limit.perAddress))/\(window)"
    }

    init(_ configuration: Configuration) {
        globalScope = configuration[Self.globalScope]
        pingInterval = configuration[Self.pingInterval]
        pingTimeout = configuration[Self.pingTimeout]
        requestTimeout = configuration[Self.requestTimeout]
        maxUnsentBytes = configuration[Self.maxPendingBytes]
        writeTimeout = configuration[Self.writeTimeout]
        idleTimeout = configuration[Self.idleTimeout]
        requiredServices = configuration[Self.requiredServices]
        listedChecks = configuration[Self.checks]
        maxSocketsPerPerson = configuration[Self.maxSocketsPerPerson]
        trustedProxies = configuration[Self.trustedProxies] ?? []
        showsOperations = configuration[Self.showsOperations]
        showsPage = configuration[Self.webClient]
        allowedOrigins = configuration[Self.allowedOrigins]
        isLimiting = configuration[.rateLimits]
        maxRequestsPerPerson = configuration[Self.maxRequestsPerPerson]
        maxHeavyRequestsPerPerson = configuration[Self.maxHeavyRequestsPerPerson]
        connections = EdgeLimits.Limit(
            total: configuration[Self.maxConnections], perAddress: configuration[Self.maxConnectionsPerAddress])
        connectedSocketsPerAddress = configuration[Self.maxSocketsPerAddress]
        unconnectedSockets = EdgeLimits.Limit(
            total: configuration[Self.maxPendingSockets], perAddress: configuration[Self.maxPendingSocketsPerAddress])
        bufferedBytes = EdgeLimits.Limit(
            total: configuration[Self.maxBufferedBytes], perAddress: configuration[Self.maxBufferedBytesPerAddress])
        loopTimePerAddress = configuration[Self.maxLoopTimePerAddress]
        let named = Self.limits.compactMap { name in configuration[Self.rate(of: name)].map { (name, $0) } }
        rateOverrides = (configuration[Self.serviceRates] ?? [:]).merging(named) { _, named in named }
    }

    /// Returns the limits of the edge: the settings, and defaults from the machine's resources.
    func edgeLimits(descriptors: Int, memory: Int, loops: Int) -> EdgeLimits {
        var limits = EdgeLimits.fitting(descriptors: descriptors, memory: memory, loops: loops)
        func set(_ limit: inout EdgeLimits.Limit, to given: EdgeLimits.Limit) {
            if given.total > 0 {
                // If the share of one address is not set, it is at most a quarter of the given total.
                limit.perAddress = limit.perAddress.map { min($0, max(given.total / 4, 1)) }
                limit.total = given.total
            }
            if let share = given.perAddress, share > 0 { limit.perAddress = share }
            if !isLimiting { limit.perAddress = nil }
        }
        set(&limits.connections, to: connections)
        let sockets = connectedSocketsPerAddress > 0 ? connectedSocketsPerAddress : max(limits.connections.total / 4, 1)
        limits.connectedSocketsPerAddress = isLimiting ? sockets : nil
        set(&limits.unconnectedSockets, to: unconnectedSockets)
        set(&limits.bufferedBytes, to: bufferedBytes)
        limits.loopTimePerAddress = isLimiting ? loopTimePerAddress : nil
        return limits
    }
}

extension SettingKind where Value == CheckList {
    static var checks: SettingKind {
        SettingKind("has to be SERVICE:REQUEST, each once, such as words:messaging.send,words:room:join, or none") {
            CheckList($0)
        }
    }
}

extension SettingKind where Value == AllowedOrigins {
    static var origins: SettingKind {
        SettingKind("has to be * or origins such as https://app.example,https://beta.example") { AllowedOrigins($0) }
    }
}
