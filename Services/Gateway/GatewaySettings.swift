import Contracts
import Reactor
import ServiceKit

/// The gateway's settings, read once.
struct GatewaySettings: Sendable {
    let globalScope: GlobalScope
    let pingInterval: Duration
    let pingTimeout: Duration
    let requestTimeout: Duration
    let maxPendingBytes: Int
    let writeTimeout: Duration
    let requiredServices: [String]
    let trustedProxies: [IPNetwork]

    /// The limits that services declare, by name; each has a setting `RATE_<NAME>`.
    static let limits =
        ["rooms", "sends", "elements", "devices", "register", "login", "sign_ins", "refresh"] + ownLimits.map(\.name)

    /// Those of what the gateway answers itself.
    static let ownLimits = [
        RateLimit("joins", perPerson: 120, perAddress: 1200, seconds: 10),
        RateLimit("typing", perPerson: 120, perAddress: 1200, seconds: 10),
        RateLimit("sync", perPerson: 60, perAddress: 3000, seconds: 60),
    ]

    static let all: [Setting] =
        [
            .host, .port, .data, .jwtSecretFile,
            Setting(
                "GLOBAL_SCOPE", .choice(GlobalScope.allCases.map(\.rawValue)), default: "everyone",
                "Whom `:global` events reach: everyone connected, or a room's participants"),
            Setting(
                "PING_INTERVAL", .duration(.milliseconds(100)...(.seconds(3600))), default: "25s",
                "How often a socket is pinged; with more than 30s push may wake who reads"),
            Setting(
                "PING_TIMEOUT", .duration(.milliseconds(100)...(.seconds(3600))), default: "20s",
                "How long its answer may take"),
            Setting(
                "REQUEST_TIMEOUT", .duration(.milliseconds(100)...(.seconds(60))), default: "4s",
                "How long a request may take; then it is 503 or an ack that says it may be tried again"),
            Setting(
                "MAX_PENDING_BYTES", .size(65_536...(1 << 30)), default: "1m",
                "What may wait for one socket before it is cut off as a slow reader"),
            Setting(
                "WRITE_TIMEOUT", .duration(.seconds(1)...(.seconds(600))), default: "10s",
                "How long a socket may take nothing of what waits for it"),
            Setting(
                "TRUSTED_PROXIES", .networks, default: "",
                "Proxies whose X-Forwarded-For is believed, as 10.0.0.1,10.1.0.0/16; none by default"),
            Setting(
                "REQUIRED_SERVICES", .services, default: "accounts,rooms,messaging,elements",
                "The services that /readyz waits for"),
            Setting(
                "RATE_LIMITS", .choice(["on", "off"]), default: "on", "Whether anything below is counted; off for tests"
            ),
        ]
        + limits.map { name in
            Setting(
                rateSetting(name), .rate, default: "",
                "How often a person and an address may \(purpose(of: name)), as 60/10s,600/10s; as the service says by default"
            )
        }

    static func rateSetting(_ limit: String) -> String { "RATE_" + limit.uppercased() }

    private static func purpose(of limit: String) -> String {
        switch limit {
        case "rooms": "make or rename rooms"
        case "sends": "send messages"
        case "joins": "join rooms"
        case "typing": "say that they type"
        case "sync": "ask for what they missed"
        case "elements": "change elements"
        case "devices": "register or remove devices"
        case "register": "register"
        case "login": "fail to log in"
        case "sign_ins": "log in, also rightly"
        default: "refresh tokens"
        }
    }

    init(_ configuration: Configuration) {
        // A choice has been checked when the configuration was read.
        globalScope = GlobalScope(rawValue: configuration.text("GLOBAL_SCOPE")) ?? .everyone
        pingInterval = configuration.duration("PING_INTERVAL")
        pingTimeout = configuration.duration("PING_TIMEOUT")
        requestTimeout = configuration.duration("REQUEST_TIMEOUT")
        maxPendingBytes = configuration.number("MAX_PENDING_BYTES")
        writeTimeout = configuration.duration("WRITE_TIMEOUT")
        requiredServices = configuration.list("REQUIRED_SERVICES")
        trustedProxies = configuration.networks("TRUSTED_PROXIES")
    }
}
