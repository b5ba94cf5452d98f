import ParlorContracts
import ParlorJSON
import ParlorWebClient

/// Apple's reasons ("Handling notification responses from APNs"), by the required action.
enum APNsReasons {
    static let expiredToken = "ExpiredProviderToken"

    /// The reasons after which nothing can be sent until an operator has changed a setting.
    static let ofSettings: Set<String> = [
        expiredToken, "InvalidProviderToken", "MissingProviderToken", "BadTopic", "MissingTopic", "TopicDisallowed",
        "BadCertificate", "BadCertificateEnvironment", "Forbidden", "BadEnvironmentKeyInToken",
        "BadEnvironmentKeyIdInToken", "UnrelatedKeyIdInToken", "BadPath", "MethodNotAllowed",
    ]
    /// The reasons for a token that is unknown in this environment.
    static let ofToken: Set<String> = ["BadDeviceToken", "DeviceTokenNotForTopic", "MissingDeviceToken"]
    static let ofDevice: Set<String> = ["Unregistered", "ExpiredToken"]
    /// The reasons for too many notifications to one device.
    static let ofBusyDevice: Set<String> = ["TooManyRequests"]
    /// The reasons of a server that accepts nothing for a while.
    static let ofBusyServer: Set<String> = ["TooManyProviderTokenUpdates", "ServiceUnavailable", "Shutdown"]
    static let passing: Set<String> = ["IdleTimeout", "InternalServerError"]
    static let ofNotification: Set<String> = [
        "PayloadTooLarge", "PayloadEmpty", "BadCollapseId", "BadExpirationDate", "BadMessageId", "BadPriority",
        "DuplicateHeaders", "InvalidPushType",
    ]

    static let all = [ofSettings, ofToken, ofDevice, ofBusyDevice, ofBusyServer, passing, ofNotification]
        .reduce(into: Set()) { $0.formUnion($1) }
}

/// Apple's response.
struct APNsResponse {
    let status: Int
    /// The reason; empty if none was given.
    let reason: String
    /// The time at which Apple found that the token is invalid, for a 410.
    let goneSince: Timestamp?
    let retryAfter: Duration?

    init(_ response: WebResponse) {
        status = response.status
        // A server that is not Apple's may answer anything.
        let body = (try? JSONValue(parsing: response.body))?.object
        reason = body?["reason"]?.string ?? ""
        goneSince = body?["timestamp"]?.int.map { Timestamp(milliseconds: $0) }
        retryAfter = response.retryAfter
    }

    /// - Parameter registeredAt: when the device was last registered, as known at the attempt. If Apple does not say
    ///   since when the token is invalid, this time counts. So a device that has been registered again in the
    ///   meantime is kept.
    func outcome(for registeredAt: Timestamp) -> PushOutcome {
        // A reason that Apple adds one day must not become a new series of a metric.
        let reported = APNsReasons.all.contains(reason) ? reason : "other"
        switch status {
        case 200: return .delivered
        case 410: return .gone(since: goneSince ?? registeredAt, reason: reported)
        case _ where APNsReasons.ofBusyServer.contains(reason), 503:
            return .later(reason: reported, after: retryAfter, of: .everything)
        case _ where APNsReasons.ofBusyDevice.contains(reason), 429:
            return .later(reason: reported, after: retryAfter, of: .device)
        case _ where APNsReasons.passing.contains(reason), 500...:
            return .later(reason: reported, after: retryAfter, of: .notification)
        case _ where APNsReasons.ofToken.contains(reason): return .badToken(reason: reported)
        case _ where APNsReasons.ofSettings.contains(reason), 403, 404, 405: return .misconfigured(reason: reported)
        default: return .refused(reason: reported)
        }
    }
}
