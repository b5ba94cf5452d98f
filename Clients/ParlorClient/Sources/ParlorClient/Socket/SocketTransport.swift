import Foundation

/// Opens connections to the server's socket.
///
/// The client uses ``WebSocketTransport``, which Linux does not have, ``PollingTransport`` and ``FallbackTransport``;
/// `ParlorClientTesting` has one for tests.
package protocol SocketTransport: Sendable {
    /// Opens a connection.
    ///
    /// - Parameter url: the WebSocket address of the server's socket.
    /// - Throws: `ClientFailure`, usually `offline`; `CancellationError`.
    func connect(to url: URL) async throws -> any SocketConnection

    /// True if the last connection polls; false by default.
    var isPolling: Bool { get }
}

extension SocketTransport {
    package var isPolling: Bool { false }
}

/// One connection, such as a WebSocket: text messages in both directions, in order.
package protocol SocketConnection: Sendable {
    /// Sends a message. Only one task calls this at a time. If that task is cancelled, the connection must stay open
    /// for others.
    ///
    /// - Throws: `ClientFailure.offline` once the connection has ended.
    func send(_ text: String) async throws

    /// Returns the next message. Only one task calls this at a time.
    ///
    /// - Throws: `ClientFailure.offline` once the connection has ended; `ClientFailure.unreadable` for a message that
    ///   is not text; `CancellationError`, after which the connection cannot be used.
    func receive() async throws -> String

    /// Closes the connection; a pending `receive` throws.
    func close()
}
