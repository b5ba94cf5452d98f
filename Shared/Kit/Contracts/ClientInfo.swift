import JSON

/// Who is at the other end of a request, as the gateway saw it: for routes that want to know (`Route.wantsClient`).
public struct ClientInfo: Sendable, Equatable {
    /// Of the peer, or of the client that a trusted proxy names, in text.
    public let address: String
    /// The `User-Agent` field as it came, cut off at `maxUserAgent` bytes; `""` without one.
    public let userAgent: String
    /// The session of the caller's token; nil without one.
    public let sessionID: String?
    /// Whether what people and addresses do is to be counted (`RATE_LIMITS`).
    public let isLimited: Bool

    public static let maxUserAgent = 256
    /// The member of the request's data.
    public static let member = "client"

    public init(address: String, userAgent: String, sessionID: String?, isLimited: Bool) {
        self.address = address
        self.userAgent = userAgent
        self.sessionID = sessionID
        self.isLimited = isLimited
    }

    /// Of a request that no gateway of this kind has sent.
    public static let unknown = ClientInfo(address: "", userAgent: "", sessionID: nil, isLimited: false)

    public var json: JSONValue {
        JSONWriter.object(reservingCapacity: 384) {
            $0.member("address", address)
            $0.member("userAgent", userAgent)
            if let sessionID { $0.member("session", sessionID) }
            $0.member("isLimited", isLimited)
        }
    }

    /// nil if it is not what `json` writes.
    public init?(_ json: JSONValue) {
        guard let object = json.object, let address = object["address"]?.string,
            let userAgent = object["userAgent"]?.string, let isLimited = object["isLimited"]?.bool
        else { return nil }
        self.init(
            address: address, userAgent: userAgent, sessionID: object["session"]?.string, isLimited: isLimited)
    }
}
