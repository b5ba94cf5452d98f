import Glibc
import ParlorContracts
import ParlorJSON
import ParlorSecurity
import ParlorServiceKit
import ParlorWebClient

/// Apple's push service, over HTTP/2 with a token ("Sending notification requests to APNs", "Handling notification
/// responses from APNs"). One connection to each of its two environments takes all requests.
struct APNsProvider: PushProvider {
    static let name = "apns"

    static let keyFile = Setting(
        "APNS_KEY_FILE", .path, in: .notifications, "Apple's .p8 key file, for the apns provider")
    static let keyID = Setting(
        "APNS_KEY_ID", .text, in: .notifications, "Id of the key in APNS_KEY_FILE, ten characters")
    static let teamID = Setting(
        "APNS_TEAM_ID", .text, in: .notifications, "Id of the Apple developer team, ten characters")
    static let topic = Setting("APNS_TOPIC", .text, in: .notifications, "The app's bundle id")
    static let url = Setting("APNS_URL", .text, in: .tests, unset: "Apple's servers", "Server for the apns provider")
    static let authorityFile = Setting(
        "APNS_CA_FILE", .path, in: .tests, unset: "the system's", "PEM file of certificates that APNS_URL may have")
    static let settings: [any AnySetting] = [keyFile, keyID, teamID, topic, url, authorityFile]
    static let concurrency = WebClient.maxInFlight

    let identity: String
    private let tokens: ProviderTokens
    private let topic: String
    private let endpoints: [Device.Environment: (url: String, client: WebClient)]

    init(_ context: ServiceContext) throws {
        let configuration = context.configuration
        func required(_ setting: Setting<String?>) throws -> String {
            guard let text = configuration[setting], !text.hasForbiddenControls else {
                throw ConfigurationError.malformed("\(setting.name) (\(setting.flag)) is needed for the provider apns")
            }
            return text
        }
        let path = try required(Self.keyFile)
        let key: ES256Key
        do {
            key = try ES256Key(pem: try Self.read(path))
        } catch {
            throw ConfigurationError.malformed("APNS_KEY_FILE (--apns-key-file): \(path) cannot be used: \(error)")
        }
        tokens = ProviderTokens(
            key: key, keyID: try required(Self.keyID), teamID: try required(Self.teamID), clock: context.clock,
            metrics: context.metrics)
        topic = try required(Self.topic)
        var client = WebClient.Configuration()
        client.authorityFile = configuration[Self.authorityFile]
        let other = configuration[Self.url]
        identity = [Self.name, tokens.keyID, tokens.teamID, topic, other ?? ""].joined(separator: " ")
        endpoints = [
            .production: (other ?? "https://api.push.apple.com", try WebClient(client)),
            .sandbox: (other ?? "https://api.sandbox.push.apple.com", try WebClient(client)),
        ]
    }

    func stop() async {
        for endpoint in endpoints.values { await endpoint.client.close() }
    }

    func send(_ notification: Notification) async -> PushOutcome {
        // Apple's tokens are hexadecimal. Anything else may form another path, whose answer would suggest
        // wrong settings.
        guard notification.device.token.isHexadecimal else { return .refused(reason: "NotHexadecimal") }
        var token = tokens.token()
        while true {
            guard let endpoint = endpoints[notification.device.environment] else {
                preconditionFailure("there are two")
            }
            switch await endpoint.client.send(request(notification, token, to: endpoint.url)) {
            case .failure(let failure): return PushOutcome(failure)
            case .success(let response):
                let reported = APNsResponse(response)
                if reported.reason == APNsReasons.expiredToken, let other = tokens.replacement(for: token) {
                    token = other
                    continue
                }
                return reported.outcome(for: notification.device.registeredAt)
            }
        }
    }

    private func request(_ notification: Notification, _ token: ProviderTokens.Token, to url: String) -> WebRequest {
        WebRequest(
            "\(url)/3/device/\(notification.device.token.text)",
            headers: [
                ("authorization", "bearer \(token.text)"),
                ("apns-topic", topic),
                ("apns-id", notification.id),
                ("apns-push-type", "alert"),
                // 10 means at once, 5 when it suits the device's battery.
                ("apns-priority", notification.kind == .alert ? "10" : "5"),
                ("apns-expiration", "\(notification.expiresAt.milliseconds / 1000)"),
                ("apns-collapse-id", notification.collapseID),
                ("content-type", "application/json"),
            ], body: Array(notification.payload.bytes), timeout: PushProviders.maxWait)
    }

    /// Reads a key, which has a few hundred bytes.
    private static func read(_ path: String) throws -> [UInt8] {
        guard let file = fopen(path, "r") else { throw FileError(reason: String(cString: strerror(errno))) }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 16_384)
        let count = fread(&bytes, 1, bytes.count, file)
        guard ferror(file) == 0 else { throw FileError(reason: "it cannot be read") }
        return Array(bytes[..<count])
    }

    private struct FileError: Error, CustomStringConvertible {
        let reason: String
        var description: String { reason }
    }
}

extension DeviceToken {
    fileprivate var isHexadecimal: Bool {
        text.utf8.allSatisfy { Unicode.Scalar($0).properties.isASCIIHexDigit }
    }
}
