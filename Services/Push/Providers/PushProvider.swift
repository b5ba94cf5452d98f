import ParlorContracts
import ParlorServiceKit
import ParlorWebClient

/// A service that delivers notifications to devices. A provider is one file, and a line in
/// `PushProviders.all`.
protocol PushProvider: Sendable {
    /// The name in `PUSH_PROVIDER`, and in metrics.
    static var name: String { get }
    static var settings: [any AnySetting] { get }
    /// The limit of concurrent notifications in each of its environments. No more are passed to it, as they
    /// would become outdated while they wait.
    static var concurrency: Int { get }

    /// An identifier of the settings that decide whether a token is valid: it is not secret, and changes with
    /// them.
    var identity: String { get }

    /// - Throws: `ConfigurationError` if its settings are insufficient.
    init(_ context: ServiceContext) throws

    /// Sends a notification once, within `PushProviders.maxWait`.
    func send(_ notification: Notification) async -> PushOutcome

    /// Ends the attempts in progress; nothing is sent any more.
    func stop() async
}

enum PushProviders {
    static let all: [any PushProvider.Type] = [LogProvider.self, APNsProvider.self, WebhookProvider.self]

    static let setting = Setting(
        "PUSH_PROVIDER", .choice(all) { $0.name }, default: LogProvider.name, in: .notifications,
        "Service that delivers notifications: apns, webhook, or log (only writes them out)")

    /// The time limit of one attempt.
    static let maxWait: Duration = .seconds(10)

    static func make(_ context: ServiceContext) throws -> any PushProvider {
        let type = context.configuration[setting]
        do {
            return try type.init(context)
        } catch let error as MissingLibrary {
            throw ConfigurationError.malformed("PUSH_PROVIDER (--push-provider) \(type.name): \(error)")
        }
    }
}

/// The outcome of a notification. A reason is one of a few words, for logs and metrics; a detail is for logs
/// only.
enum PushOutcome: Sendable, Equatable {
    case delivered
    /// The app has not been on the device since then.
    case gone(since: Timestamp, reason: String)
    /// The device does not exist, or not in this environment, which may be a mistake in the settings.
    case badToken(reason: String)
    /// The notification will never be accepted.
    case refused(reason: String)
    /// The notification may be accepted later, after this time if the server gives one.
    case later(reason: String, after: Duration? = nil, of: Extent)
    /// The provider did not answer; the notification may have been accepted.
    case unanswered(reason: String, detail: String)
    /// The provider accepts nothing until an operator changes a setting.
    case misconfigured(reason: String, detail: String = "")

    /// The scope of a server's temporary refusal.
    enum Extent: Sendable {
        case notification
        /// The notifications for this device.
        case device
        case everything
    }

    /// The label for metrics.
    var label: String {
        switch self {
        case .delivered: "delivered"
        case .gone: "gone"
        case .badToken: "bad_token"
        case .refused: "refused"
        case .later, .unanswered: "later"
        case .misconfigured: "misconfigured"
        }
    }

    var reason: String {
        switch self {
        case .delivered: "ok"
        case .gone(_, let reason), .badToken(let reason), .refused(let reason), .later(let reason, _, _),
            .unanswered(let reason, _), .misconfigured(let reason, _):
            reason
        }
    }
}
