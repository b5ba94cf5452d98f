import HTTP
import SocketIO

/// A path at which sockets are served. All other paths go to the delegate as plain requests.
public struct EdgeEndpoint: Sendable {
    public enum Content: Sendable {
        /// Engine.IO's messages go to the delegate as they are.
        case engineIO(EngineConfiguration)
        case socketIO(EngineConfiguration, SocketIOConfiguration)
        /// A WebSocket's messages go to the delegate as they are.
        case webSocket
    }

    /// Starts with a slash. One at the end may be left out by clients.
    public let path: String
    public var content: Content
    /// Of WebSocket messages.
    public var maxMessageBytes: Int

    /// Engine.IO: whether a request without `EIO` is of version 4. The reference server refuses it.
    public var takesMissingVersion = false
    /// Socket.IO: a client that has connected to no namespace by then is closed.
    public var connectTimeout: Duration? = .seconds(45)
    /// Whether scripts of any web page may use it. No cookie is ever read here, so a page gains nothing by it.
    public var allowsAnyOrigin = true

    public init(path: String, _ content: Content) {
        precondition(path.hasPrefix("/"), "an endpoint's path starts with a slash")
        self.path = path
        self.content = content
        switch content {
        case .engineIO(let engine), .socketIO(let engine, _): maxMessageBytes = engine.maxPayload
        case .webSocket: maxMessageBytes = 1 << 20
        }
    }
}
