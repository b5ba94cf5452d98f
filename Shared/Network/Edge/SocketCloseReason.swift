import SocketIO

/// Why a socket ended.
public enum SocketCloseReason: Sendable, Equatable {
    case engine(EngineCloseReason)
    /// The client did not take what it was sent.
    case slowReader
    /// No CONNECT in time.
    case connectTimeout
    /// Too much was sent before CONNECT.
    case tooManyMessages
    /// There are too many, or too much is buffered for them.
    case overload
    /// The server is shutting down.
    case draining
}
