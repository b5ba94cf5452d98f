import Foundation

/// Opens WebSockets: `WebSocketTransport` is the platform's, `ParlorClientTesting` has a scripted one.
public protocol SocketTransport: Sendable {
    /// - Throws: `ClientFailure.offline`; `CancellationError`.
    func connect(to url: URL) async throws -> any SocketConnection
}

/// One WebSocket: text messages, in order.
public protocol SocketConnection: Sendable {
    /// Sends a text. One caller at a time. A cancelled caller may not end the connection for the
    /// others.
    ///
    /// - Throws: `ClientFailure.offline` once the connection has ended.
    func send(_ text: String) async throws

    /// Returns the next message. One caller at a time.
    ///
    /// - Throws: `ClientFailure.offline` once the connection has ended; `CancellationError`, after
    ///   which the connection cannot be used.
    func receive() async throws -> String

    /// Closes the connection; a pending `receive` throws.
    func close()
}
