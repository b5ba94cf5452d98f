/// How Engine.IO refuses a request: status 400 with this as JSON. Codes and messages are the reference server's.
public enum EngineError: Int, Error, Sendable {
    case unknownTransport = 0
    case unknownSession, badHandshakeMethod, badRequest, forbidden, unsupportedVersion

    public var message: String {
        switch self {
        case .unknownTransport: "Transport unknown"
        case .unknownSession: "Session ID unknown"
        case .badHandshakeMethod: "Bad handshake method"
        case .badRequest: "Bad request"
        case .forbidden: "Forbidden"
        case .unsupportedVersion: "Unsupported protocol version"
        }
    }

    public var json: [UInt8] { Array(#"{"code":\#(rawValue),"message":"\#(message)"}"#.utf8) }
}
