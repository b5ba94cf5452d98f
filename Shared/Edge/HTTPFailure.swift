/// Why a request could not be served.
public struct HTTPFailure: Sendable {
    /// 400, 408, 413, 414, 417, 431, 500, 501, 503 or 505.
    public let status: Int
    /// For a developer; never a byte of the request.
    public let reason: String
    public let requestID: String
}
