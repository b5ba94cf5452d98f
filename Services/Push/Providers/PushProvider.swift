import Contracts
import ServiceKit
import WebClient

/// Somebody who brings notifications to devices. A provider is one file, and a line in `PushProviders.all`.
protocol PushProvider: Sendable {
    /// Its name in `PUSH_PROVIDER`, and in metrics.
    static var name: String { get }
    static var settings: [any AnySetting] { get }
    /// The maximum of concurrent notifications in each of its environments. No more are handed
    /// over: one that waited here would be out of date.
    static var concurrency: Int { get }

    /// By what settings a token is good or bad: not a secret, and another one when they change.
    var identity: String { get }

    /// - Throws: `ConfigurationError` if its settings do not do.
    init(_ context: ServiceContext) throws

    /// Sends once, within `PushProviders.maxWait`.
    func send(_ notification: Notification) async -> PushOutcome

    /// Ends what is under way; nothing is sent any more.
    func stop() async
}

enum PushProviders {
    static let all: [any PushProvider.Type] = [LogProvider.self, APNsProvider.self, WebhookProvider.self]

    /// The deadline of one attempt.
    static let maxWait: Duration = .seconds(10)

    static func make(_ context: ServiceContext) throws -> any PushProvider {
        let type = context.configuration[PushService.provider]
        do {
            return try type.init(context)
        } catch let error as MissingLibrary {
            throw ConfigurationError.malformed("PUSH_PROVIDER (--push-provider) \(type.name): \(error)")
        }
    }
}

/// The outcome of a notification. A reason is one of a few words, for logs and metrics; a detail is
/// for logs alone.
enum PushOutcome: Sendable, Equatable {
    case delivered
    /// The app is no more on the device since then.
    case gone(since: Timestamp, reason: String)
    /// There is no such device, or not here: it may be a mistake of the settings.
    case badToken(reason: String)
    /// This notification will never be taken.
    case refused(reason: String)
    /// It may be taken later, after that time if the server asks for it.
    case later(reason: String, after: Duration? = nil, of: Extent)
    /// There is no answer; it may have been taken.
    case unanswered(reason: String, detail: String)
    /// Nothing will be taken until somebody changes a setting.
    case misconfigured(reason: String, detail: String = "")

    /// The scope of a server's temporary refusal.
    enum Extent: Sendable {
        case notification
        /// Anything for this device.
        case device
        case everything
    }

    /// For metrics.
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
