import ParlorJSON

/// The client that sent a request, as the gateway sees it. The gateway adds it to the requests of a route with
/// `Route.wantsClient`.
public struct ClientInfo: Sendable, Equatable {
    /// The address as text: the peer's, or the one that a trusted proxy names.
    public let address: String
    /// The `User-Agent` header, truncated to `maxUserAgent` bytes; `""` without one.
    public let userAgent: String
    /// The session of the caller's token; nil without one.
    public let sessionID: String?
    /// True if requests of this person and address count against rate limits (`RATE_LIMITS`).
    public let isLimited: Bool

    public static let maxUserAgent = 256
    /// The name of the member in the request's data.
    public static let member = "client"

    public init(address: String, userAgent: String, sessionID: String?, isLimited: Bool) {
        self.address = address
        self.userAgent = userAgent
        self.sessionID = sessionID
        self.isLimited = isLimited
    }

    /// The value for a request that did not come from a gateway of this version.
    public static let unknown = ClientInfo(address: "", userAgent: "", sessionID: nil, isLimited: false)

    public var json: JSONValue {
        JSONWriter.object(reservingCapacity: 384) {
            $0.member("address", address)
            $0.member("userAgent", userAgent)
            if let sessionID { $0.member("session", sessionID) }
            $0.member("isLimited", isLimited)
        }
    }

    /// Parses the result of `json`; nil for anything else.
    public init?(_ json: JSONValue) {
        guard let object = json.object, let address = object["address"]?.string,
            let userAgent = object["userAgent"]?.string, let isLimited = object["isLimited"]?.bool
        else { return nil }
        self.init(
            address: address, userAgent: userAgent, sessionID: object["session"]?.string, isLimited: isLimited)
    }
}
