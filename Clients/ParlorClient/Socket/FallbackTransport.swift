import Foundation

/// WebSockets, or HTTP long-polling where WebSockets do not work.
///
/// A WebSocket counts as working once its first packet arrives: a proxy may accept one and pass nothing on.
/// After polling has worked, it is used first for ten minutes, or until it fails to connect. Then
/// WebSockets are tried first again.
public final class FallbackTransport: SocketTransport {
    /// Longer than a handshake takes on any usable network.
    static let maxWait: Duration = .seconds(5)
    static let retryInterval: TimeInterval = 10 * 60

    private let webSockets: any SocketTransport
    private let polling: any SocketTransport
    private let clock: any ClientClock
    /// The time since which polling is used; nil while WebSockets are.
    private let pollingSince = Guarded<Date?>(nil)

    public init(
        webSockets: any SocketTransport = WebSocketTransport(), polling: any SocketTransport,
        clock: any ClientClock = SystemClock()
    ) {
        self.webSockets = webSockets
        self.polling = polling
        self.clock = clock
    }

    /// True if the last connection uses polling.
    public var isPolling: Bool { pollingSince.withLock { $0 != nil } }

    public func connect(to url: URL) async throws -> any SocketConnection {
        let now = clock.now
        let since = pollingSince.withLock { $0 }
        if let since, abs(now.timeIntervalSince(since)) < Self.retryInterval {
            do { return try await polling.connect(to: url) } catch {
                try Task.checkCancellation()
                pollingSince.withLock { $0 = nil }
            }
        }
        let start = clock.now
        do {
            return try await connectWebSocket(url)
        } catch let failure {
            try Task.checkCancellation()
            let hasFailedAtOnce = clock.now.timeIntervalSince(start) < Self.maxWait / .seconds(1)
            return try await poll(url, after: ClientFailure(failure), hasFailedAtOnce)
        }
    }

    /// - Parameter failure: the WebSocket's failure.
    private func poll(
        _ url: URL, after failure: ClientFailure, _ hasFailedAtOnce: Bool
    ) async throws -> any SocketConnection {
        let connection: any SocketConnection
        do {
            connection = try await polling.connect(to: url)
        } catch let polled as ClientFailure {
            // The cause is the network, not a proxy. A permanent failure, such as `wss` on Linux, gives way
            // to polling's, which may pass.
            throw failure.isRetryable ? failure : polled
        }
        // A WebSocket that failed at once may have met a starting server, which polling has reached by now.
        if failure.isRetryable, hasFailedAtOnce {
            do {
                let webSocket = try await connectWebSocket(url)
                connection.close()
                return webSocket
            } catch {
                // It keeps polling.
            }
        }
        if Task.isCancelled { connection.close() }
        try Task.checkCancellation()
        let now = clock.now
        pollingSince.withLock { $0 = now }
        return connection
    }

    private func connectWebSocket(_ url: URL) async throws -> any SocketConnection {
        let connection = try await openWebSocket(url)
        pollingSince.withLock { $0 = nil }
        return connection
    }

    @Sendable
    private static func close(_ connection: any SocketConnection) { connection.close() }

    private func openWebSocket(_ url: URL) async throws -> any SocketConnection {
        try await within(
            Self.maxWait, by: clock, else: "no WebSocket gets through", tooLate: Self.close
        ) { [webSockets] () -> any SocketConnection in
            let connection = try await webSockets.connect(to: url)
            do {
                return OpenedConnection(connection, first: try await connection.receive())
            } catch {
                connection.close()
                throw error
            }
        }
    }
}

/// A connection whose first packet has been read.
private final class OpenedConnection: SocketConnection {
    private let connection: any SocketConnection
    private let first: Guarded<String?>

    init(_ connection: any SocketConnection, first: String) {
        self.connection = connection
        self.first = Guarded(first)
    }

    func send(_ text: String) async throws { try await connection.send(text) }

    func receive() async throws -> String {
        let text = first.withLock { first in
            defer { first = nil }
            return first
        }
        if let text { return text }
        return try await connection.receive()
    }

    func close() { connection.close() }
}
