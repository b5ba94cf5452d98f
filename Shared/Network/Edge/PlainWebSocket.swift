import ParlorWebSocket

/// A WebSocket without Engine.IO that passes its client's messages to a closure. On its loop only.
package final class PlainWebSocket: WebSocketReceiver {
    private unowned let connection: WebSocketConnection
    private let takeMessage: (PlainWebSocket, ArraySlice<UInt8>, _ isBinary: Bool) -> Void

    /// - Parameter connection: keeps this object until it ends.
    init(
        _ connection: WebSocketConnection,
        _ takeMessage: @escaping (PlainWebSocket, ArraySlice<UInt8>, _ isBinary: Bool) -> Void
    ) {
        self.connection = connection
        self.takeMessage = takeMessage
    }

    /// Sends one message. While a client does not read, nothing is read from it, and it is disconnected after
    /// `EdgeConfiguration.writeTimeout`.
    package func send(_ message: some Collection<UInt8>, isBinary: Bool) {
        connection.write(WebSocketFrame.encode(isBinary ? .binary : .text, Array(message)))
    }

    var person: String? { nil }

    func webSocket(_ webSocket: WebSocketConnection, received message: ArraySlice<UInt8>, isBinary: Bool) {
        takeMessage(self, message, isBinary)
    }

    func webSocketDidClose(_ webSocket: WebSocketConnection, isSlow: Bool) {}
}
