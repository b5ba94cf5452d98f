import WebSocket

/// A WebSocket without Engine.IO: what its client sends goes to a closure. On its loop only.
package final class PlainWebSocket {
    private unowned let connection: WebSocketConnection
    private let takeMessage: (PlainWebSocket, ArraySlice<UInt8>, _ isBinary: Bool) -> Void

    /// - Parameter connection: has this one until it ends.
    init(
        _ connection: WebSocketConnection,
        _ takeMessage: @escaping (PlainWebSocket, ArraySlice<UInt8>, _ isBinary: Bool) -> Void
    ) {
        self.connection = connection
        self.takeMessage = takeMessage
    }

    /// Sends one message. A client that does not read is no longer read from, and is cut off after
    /// `EdgeConfiguration.writeTimeout`.
    package func send(_ message: some Collection<UInt8>, isBinary: Bool) {
        connection.write(WebSocketFrame.encode(isBinary ? .binary : .text, Array(message)))
    }

    func received(_ message: ArraySlice<UInt8>, isBinary: Bool) { takeMessage(self, message, isBinary) }
}
