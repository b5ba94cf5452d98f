import Reactor
import WebSocket

/// A client at an endpoint of plain WebSocket: a handle, to be used on its loop only.
public struct RawWebSocket: Sendable, Hashable {
    private let connection: LoopBound<WebSocketConnection>

    init(_ connection: LoopBound<WebSocketConnection>) { self.connection = connection }

    /// Sends one message. A client that does not read is no longer read from, and is cut off after
    /// `EdgeConfiguration.writeTimeout`.
    public func send(_ message: some Collection<UInt8>, isBinary: Bool) {
        connection.object.write(WebSocketFrame.encode(isBinary ? .binary : .text, Array(message)))
    }

    /// What the client has not taken yet.
    public var pendingCost: Int { connection.object.pendingCost }

    public func close() { connection.object.close(.normal) }
}
