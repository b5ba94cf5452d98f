import ParlorContracts
import ParlorJSON
import ParlorReactor
import ParlorSecurity
import ParlorServiceKit
import ParlorWebClient

/// POSTs each notification, signed, to a URL of the operator, for push services that Parlor does not support.
struct WebhookProvider: PushProvider {
    static let name = "webhook"

    static let url = Setting(
        "PUSH_WEBHOOK_URL", .text, in: .notifications, "URL that the webhook provider posts notifications to")
    static let secretFile = Setting(
        "PUSH_WEBHOOK_SECRET_FILE", .path, in: .notifications,
        unset: "webhook.secret in the data folder, created on first start",
        "File with the key that signs webhook requests")
    static let settings: [any AnySetting] = [url, secretFile]

    /// The limit of connections for both environments, which are one server. With HTTP/1.1 each request takes
    /// a connection.
    private static let connections = 32
    static let concurrency = connections / Device.Environment.allCases.count

    let identity: String
    private let url: String
    private let secret: [UInt8]
    private let clock: any WallClock
    private let client: WebClient

    init(_ context: ServiceContext) throws {
        guard let url = context.configuration[Self.url],
            url.hasPrefix("https://") || url.hasPrefix("http://"), !url.hasForbiddenControls
        else {
            throw ConfigurationError.malformed(
                "PUSH_WEBHOOK_URL (--push-webhook-url) has to be an http or https URL for the provider webhook")
        }
        if Self.isInTheClear(url) {
            context.log.warning(
                "PUSH_WEBHOOK_URL is http, and its host is not this machine: texts and device tokens go over the network in the clear"
            )
        }
        self.url = url
        // The URL may contain a secret.
        identity = "\(Self.name) \(SHA256.hash(Array(url.utf8)).hexadecimal)"
        secret = try SecretFile.loadOrCreate(
            context.configuration[Self.secretFile] ?? "\(context.dataDirectory)/webhook.secret",
            randomness: context.randomness)
        clock = context.clock
        var configuration = WebClient.Configuration()
        configuration.maxConnections = Self.connections
        client = try WebClient(configuration)
    }

    /// Returns true if others can read the requests: plain HTTP to an address that is not known to be this machine.
    static func isInTheClear(_ url: String) -> Bool {
        let scheme = "http://"
        guard url.lowercased().hasPrefix(scheme) else { return false }
        let authority = url.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
        let address = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        let host = address.hasPrefix("[") ? address.dropFirst().prefix { $0 != "]" } : address.prefix { $0 != ":" }
        return host != "localhost" && host != "::1"
            && IPAddress(String(host)).map { IPNetwork("127.0.0.0/8")?.contains($0) != true } ?? true
    }

    func send(_ notification: Notification) async -> PushOutcome {
        let body = JSONWriter.bytes(reservingCapacity: notification.payload.bytes.count + 512) { json in
            json.object { notification.writeMembers(to: &$0) }
        }
        let request = WebRequest(
            url,
            headers: [
                ("Content-Type", "application/json"), ("Idempotency-Key", notification.id),
                ("Parlor-Signature", Self.signature(of: body, at: clock.now(), with: secret)),
            ], body: body, timeout: PushProviders.maxWait)
        switch await client.send(request) {
        case .success(let response): return Self.outcome(response, for: notification.device.registeredAt)
        case .failure(let failure): return PushOutcome(failure)
        }
    }

    func stop() async { await client.close() }

    /// Returns `t=SECONDS,v1=HMAC`. The time is signed too, so that an intercepted request becomes useless.
    static func signature(of body: [UInt8], at time: Timestamp, with secret: [UInt8]) -> String {
        let seconds = time.milliseconds / 1000
        let code = HMACSHA256.authenticate(Array("\(seconds).".utf8) + body, key: secret)
        return "t=\(seconds),v1=\(code.hexadecimal)"
    }

    /// - Parameter registeredAt: when the device was last registered, as known at the attempt. After a 410, a device
    ///   that has been registered again in the meantime is kept.
    static func outcome(_ response: WebResponse, for registeredAt: Timestamp) -> PushOutcome {
        let asked = response.retryAfter
        switch response.status {
        case 200..<300: return .delivered
        case 410: return .gone(since: registeredAt, reason: "status_410")
        case 429: return .later(reason: "status_429", after: asked, of: .everything)
        case 500...:
            // A failure of one notification is no reason to hold others back, unless the server says so.
            let isBusy = response.status == 503 || asked != nil
            return .later(reason: "status_5xx", after: asked, of: isBusy ? .everything : .notification)
        case 401, 403, 404, 405: return .misconfigured(reason: "status_4xx")
        case 300..<400: return .misconfigured(reason: "status_3xx")
        default: return .refused(reason: "status_4xx")
        }
    }
}

extension PushOutcome {
    /// Creates the outcome of an attempt without a response.
    init(_ failure: WebFailure) {
        switch failure {
        case .timeout: self = .unanswered(reason: "timeout", detail: "no response in time")
        case .connection(let detail): self = .unanswered(reason: "connection", detail: detail)
        case .notTrusted(let detail): self = .misconfigured(reason: "certificate", detail: detail)
        case .busy: self = .unanswered(reason: "busy", detail: "too many requests wait")
        case .closed: self = .unanswered(reason: "stopping", detail: "this process ends")
        }
    }
}
