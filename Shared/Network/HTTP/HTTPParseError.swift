/// Why a request was refused. Where the next one would begin is unknown after it, so the connection has to be closed
/// once the answer is written.
public struct HTTPParseError: Error, Equatable, CustomStringConvertible {
    /// 400, 413, 414, 417, 431, 501 or 505.
    public let status: Int
    /// For a developer to read; never a byte of the request.
    public let reason: String

    init(_ status: Int, _ reason: String) {
        self.status = status
        self.reason = reason
    }

    public var description: String { "\(status): \(reason)" }
}
