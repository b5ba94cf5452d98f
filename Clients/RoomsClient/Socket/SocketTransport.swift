import Foundation

/// Opens WebSockets. The platform's own is `WebSocketTransport`; `RoomsClientTesting` has a scripted one.
public protocol SocketTransport: Sendable {
    /// - Throws: `ClientFailure.offline`; `CancellationError`.
    func connect(to url: URL) async throws -> any SocketConnection
}

/// One WebSocket: text messages, in order.
public protocol SocketConnection: Sendable {
    /// One caller at a time. A caller that is cancelled may not end the connection for the others.
    ///
    /// - Throws: `ClientFailure.offline` once the connection has ended.
    func send(_ text: String) async throws

    /// The next message. One caller at a time.
    ///
    /// - Throws: `ClientFailure.offline` once the connection has ended; `CancellationError`, and then the connection is of no
    ///   more use.
    func receive() async throws -> String

    /// Ends it; a pending `receive` throws.
    func close()
}
