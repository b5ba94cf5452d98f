import Delivery
import Edge
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
    let requiredServices: [String]
    let trustedProxies: [IPNetwork]
    let showsOperations: Bool
    let showsPage: Bool
    let allowedOrigins: AllowedOrigins
    private let connections: EdgeLimits.Limit
    private let unconnectedSockets: EdgeLimits.Limit
    private let bufferedBytes: EdgeLimits.Limit
    private let loopTimePerAddress: Int
    /// Whether what is counted for each person and address is limited.
    let isLimiting: Bool
    let maxRequestsPerPerson: Int
    let maxHeavyRequestsPerPerson: Int
    let maxSocketsPerPerson: Int
    /// What is set in place of the limits' own numbers, by name.
    let rateOverrides: [String: Rate]

    /// The limits that services declare, by name; each has a setting `RATE_<NAME>`.
    static let limits =
        ["rooms", "sends", "elements", "devices", "register", "login", "sign_ins", "refresh"]
        + OwnLimits.all.map(\.name)

    static let globalScope = Setting(
        "GLOBAL_SCOPE", .choice(GlobalScope.self), default: "everyone",
        "Who receives `:global` events: everyone connected, or a room's participants")
    static let pingInterval = Setting(
        "PING_INTERVAL", .duration(.milliseconds(100)...(.seconds(3600))), default: "25s",
        "How often a socket is pinged; with more than 30s push may wake who reads")
    static let pingTimeout = Setting(
        "PING_TIMEOUT", .duration(.milliseconds(100)...(.seconds(3600))), default: "20s",
        "How long its answer may take")
    static let requestTimeout = Setting(
        "REQUEST_TIMEOUT", .duration(.milliseconds(100)...(.seconds(60))), default: "4s",
        "How long a request may take; then it is 503 or an ack that says it may be tried again")
    static let maxPendingBytes = Setting(
        "MAX_PENDING_BYTES", .size(65_536...(1 << 30)), default: "1m",
        "Unsent bytes: what may wait for one socket before it is cut off as a slow reader")
    static let writeTimeout = Setting(
        "WRITE_TIMEOUT", .duration(.seconds(1)...(.seconds(600))), default: "10s",
        "How long a socket may take nothing of what waits for it")
    static let maxConnections = Setting(
        "MAX_CONNECTIONS", .number(0...1_000_000), default: "0",
        "Open connections; 0: as the system's limits for descriptors and memory allow")
    static let maxConnectionsPerAddress = Setting(
        "MAX_CONNECTIONS_PER_ADDRESS", .number(0...1_000_000), default: "0",
        "Connections of one address whose sockets have not connected; 0: a quarter of all, 1000 at most")
    static let maxPendingSockets = Setting(
        "MAX_PENDING_SOCKETS", .number(0...1_000_000), default: "0",
        "Unconnected sockets, which have not connected to a namespace yet; 0: half as many as connections")
    static let maxPendingSocketsPerAddress = Setting(
        "MAX_PENDING_SOCKETS_PER_ADDRESS", .number(0...1_000_000), default: "0",
        "Of these, those of one address; 0: an eighth of all connections, 500 at most")
    static let maxBufferedBytes = Setting(
        "MAX_BUFFERED_BYTES", .size(0...(1 << 40)), default: "0",
        "What may be buffered for all clients together: unfinished requests, unread answers; 0: a quarter of the memory, 128m at most"
    )
    static let maxBufferedBytesPerAddress = Setting(
        "MAX_BUFFERED_BYTES_PER_ADDRESS", .size(0...(1 << 40)), default: "0",
        "Of this, for one address; 0: a quarter")
    static let maxLoopTimePerAddress = Setting(
        "MAX_LOOP_TIME_PER_ADDRESS", .number(1...100), default: "25",
        "Percent of each event loop's time that one address's requests and messages may take")
    static let trustedProxies = Setting(
        "TRUSTED_PROXIES", .networks,
        "Proxies whose X-Forwarded-For is believed, as 10.0.0.1,10.1.0.0/16; none by default")
    static let showsOperations = Setting(
        "PUBLIC_OPERATIONS", .onOrOff, default: "on",
        "Whether /readyz and /metrics are on the clients' port, too, and not on OPS_PORT alone")
    static let webClient = Setting(
        "WEB_CLIENT", .onOrOff, default: "on", "Whether the web client is at /")
    static let allowedOrigins = Setting(
        "ALLOWED_ORIGINS", .origins, default: "*",
        "Origins whose pages may use /api and /socket.io/, as https://app.example,https://beta.example; * for all")
    static let maxSocketsPerPerson = Setting(
        "MAX_SOCKETS_PER_PERSON", .number(1...100_000), default: "100",
        "How many sockets one person may have at this gateway; one more ends the oldest")
    static let requiredServices = Setting(
        "REQUIRED_SERVICES", .services, default: "accounts,rooms,messaging,elements",
        "The services that /readyz waits for")
    static let maxRequestsPerPerson = Setting(
        "MAX_REQUESTS_PER_PERSON", .number(1...10_000), default: "32",
        "HTTP requests of one person that may be under way at once on a gateway")
    static let maxHeavyRequestsPerPerson = Setting(
        "MAX_HEAVY_REQUESTS_PER_PERSON", .number(1...1000), default: "2",
        "Of those that answer at length, replays to sockets among them; the next ones wait")

    static let all: [any AnySetting] = own + limits.map { rate(of: $0) }

    private static let own: [any AnySetting] = [
        Setting.host, Setting.port, Setting.data, Setting.jwtSecretFile, globalScope, pingInterval, pingTimeout,
        requestTimeout, maxPendingBytes, writeTimeout, maxConnections, maxConnectionsPerAddress, maxPendingSockets,
        maxPendingSocketsPerAddress, maxBufferedBytes, maxBufferedBytesPerAddress, maxLoopTimePerAddress,
        trustedProxies, showsOperations, webClient, allowedOrigins, maxSocketsPerPerson, requiredServices,
        maxRequestsPerPerson,
        maxHeavyRequestsPerPerson, Setting.rateLimits,
    ]

    /// The setting of a limit; nil for the numbers that the service declares.
    static func rate(of limit: String) -> Setting<Rate?> {
        Setting("RATE_" + limit.uppercased(), .rate, description(of: limit))
    }

    private static func description(of limit: String) -> String {
        switch limit {
        case "bytes": "How many bytes a person and an address may write, as 64m/1h,640m/1h, which is the default"
        case "lists":
            "How many rooms the lists of a person and of an address may have together, as 10000/10s,100000/10s, which is the default"
        default:
            "How often a person and an address may \(purpose(of: limit)), as 60/10s,600/10s; as the service says by default"
        }
    }

    private static func purpose(of limit: String) -> String {
        switch limit {
        case "rooms": "make or rename rooms"
        case "sends": "send messages"
        case "joins": "join rooms"
        case "typing": "say that they type"
        case "sync": "ask for what they missed"
        case "requests": "ask for anything over HTTP (the address alone counts)"
        case "reads": "read whatever has no limit of its own"
        case "writes": "change whatever has no limit of its own"
        case "connects": "connect a socket"
        case "unknown": "ask for what is not there"
        case "elements": "change elements"
        case "devices": "register or remove devices"
        case "register": "register"
        case "login": "give a wrong password; where nobody is logged in, only the address counts"
        case "sign_ins": "log in or change the password, also rightly; only the address counts, likewise"
        default: "refresh tokens, and show or end sessions"
        }
    }

    init(_ configuration: Configuration) {
        globalScope = configuration[Self.globalScope]
        pingInterval = configuration[Self.pingInterval]
        pingTimeout = configuration[Self.pingTimeout]
        requestTimeout = configuration[Self.requestTimeout]
        maxUnsentBytes = configuration[Self.maxPendingBytes]
        writeTimeout = configuration[Self.writeTimeout]
        requiredServices = configuration[Self.requiredServices]
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
        unconnectedSockets = EdgeLimits.Limit(
            total: configuration[Self.maxPendingSockets], perAddress: configuration[Self.maxPendingSocketsPerAddress])
        bufferedBytes = EdgeLimits.Limit(
            total: configuration[Self.maxBufferedBytes], perAddress: configuration[Self.maxBufferedBytesPerAddress])
        loopTimePerAddress = configuration[Self.maxLoopTimePerAddress]
        rateOverrides = Dictionary(
            Self.limits.compactMap { name in configuration[Self.rate(of: name)].map { (name, $0) } },
            uniquingKeysWith: { first, _ in first })
    }

    /// What clients may hold at once: as it is set, and the rest as the machine allows.
    func edgeLimits(descriptors: Int, memory: Int, loops: Int) -> EdgeLimits {
        var limits = EdgeLimits.fitting(descriptors: descriptors, memory: memory, loops: loops)
        func set(_ limit: inout EdgeLimits.Limit, to given: EdgeLimits.Limit) {
            if given.total > 0 {
                // What one address may have keeps its proportion, if it is not set itself.
                limit.perAddress = limit.perAddress.map { min($0, max(given.total / 4, 1)) }
                limit.total = given.total
            }
            if let share = given.perAddress, share > 0 { limit.perAddress = share }
            if !isLimiting { limit.perAddress = nil }
        }
        set(&limits.connections, to: connections)
        set(&limits.unconnectedSockets, to: unconnectedSockets)
        set(&limits.bufferedBytes, to: bufferedBytes)
        limits.loopTimePerAddress = isLimiting ? loopTimePerAddress : nil
        return limits
    }
}

extension SettingKind where Value == AllowedOrigins {
    static var origins: SettingKind {
        SettingKind("has to be * or origins such as https://app.example,https://beta.example") { AllowedOrigins($0) }
    }
}
