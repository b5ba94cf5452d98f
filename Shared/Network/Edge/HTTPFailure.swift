/// Why a request could not be served.
public struct HTTPFailure: Sendable {
    /// 400, 408, 413, 414, 417, 429, 431, 500, 501, 503 or 505.
    public let status: Int
    /// For a developer; never a byte of the request.
    public let reason: String
    public let requestID: String

    /// When to come back after a refusal for want of room, in seconds: what waits for clients has changed by then.
    static let retryAfter = "5"

    init(status: Int, reason: String, requestID: String) {
        self.status = status
        self.reason = reason
        self.requestID = requestID
    }

    init(_ excess: ClientUsage.Excess, of things: String, requestID: String) {
        self.init(status: excess.status, reason: excess.reason(things), requestID: requestID)
    }
}

extension ClientUsage.Excess {
    var status: Int { self == .total ? 503 : 429 }

    func reason(_ things: String) -> String {
        self == .total ? "there are too many \(things)" : "there are too many \(things) from this address"
    }
}
