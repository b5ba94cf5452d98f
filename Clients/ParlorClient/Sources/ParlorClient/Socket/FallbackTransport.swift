import Foundation

/// A transport that uses WebSockets, or HTTP long-polling where WebSockets do not work.
///
/// A WebSocket counts as working once its first packet has arrived, because a proxy may accept one and forward
/// nothing. Some proxies cut WebSockets off a moment later. So after two WebSockets in a row that were closed before
/// their second packet, polling is tried first. After polling has worked, it is tried first for ten minutes, or until
/// it fails to connect. Then WebSockets are tried first again.
package final class FallbackTransport: SocketTransport {
    /// The time limit for a WebSocket's first packet: longer than a handshake takes on any usable network.
    static let maxWait: Duration = .seconds(5)
    /// The time, in seconds, for which polling is tried first.
    static let retryInterval: TimeInterval = 10 * 60

    /// The number of cut-off WebSockets in a row after which polling is tried first. One may be due to a restart of the
    /// server.
    static let maxCutOff = 2

    private let webSockets: any SocketTransport
    private let polling: any SocketTransport
    private let clock: any ClientClock
    /// The time when polling last began; nil if the last connection is a WebSocket.
    private let pollingSince = Guarded<Date?>(nil)
    /// The number of WebSockets in a row that ended before their second packet.
    private let cutOff = Guarded(0)

    /// Creates a transport that falls back to polling.
    package init(
        webSockets: any SocketTransport, polling: any SocketTransport,
        clock: any ClientClock = SystemClock()
    ) {
        self.webSockets = webSockets
        self.polling = polling
        self.clock = clock
    }

    package var isPolling: Bool { pollingSince.withLock { $0 != nil } }

    package func connect(to url: URL) async throws -> any SocketConnection {
        let now = clock.now
        let since = pollingSince.withLock { $0 }
        let isPollingRecent = since.map { abs(now.timeIntervalSince($0)) < Self.retryInterval } ?? false
        if isPollingRecent || takeCutOff() {
            do {
                let connection = try await polling.connect(to: url)
                if !isPollingRecent { pollingSince.withLock { $0 = now } }
                return connection
            } catch {
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

    /// Returns true if the last WebSockets were cut off, once.
    private func takeCutOff() -> Bool {
        cutOff.withLock { count in
            guard count >= Self.maxCutOff else { return false }
            count = 0
            return true
        }
    }

    /// Connects by polling, after a WebSocket has failed.
    ///
    /// - Parameter failure: the WebSocket's failure.
    private func poll(
        _ url: URL, after failure: ClientFailure, _ hasFailedAtOnce: Bool
    ) async throws -> any SocketConnection {
        let connection: any SocketConnection
        do {
            connection = try await polling.connect(to: url)
        } catch let polled as ClientFailure {
            // Both failed, so the cause is the network and not a proxy. If the WebSocket can never work, such as
            // `wss` on Linux, polling's failure is the useful one.
            throw failure.isRetryable ? failure : polled
        }
        // A WebSocket that failed at once may have met a server that was still starting. Polling has reached it
        // since, so a WebSocket is tried once more.
        if failure.isRetryable, hasFailedAtOnce {
            do {
                let webSocket = try await connectWebSocket(url)
                connection.close()
                return webSocket
            } catch {
                // The polling connection stays in use.
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
            Self.maxWait, by: clock, else: "WebSockets do not work here", tooLate: Self.close
        ) { [webSockets, cutOff] () -> any SocketConnection in
            let connection = try await webSockets.connect(to: url)
            do {
                let first = try await connection.receive()
                return OpenedConnection(connection, first: first) { isCutOff in
                    cutOff.withLock { $0 = isCutOff ? $0 + 1 : 0 }
                }
            } catch {
                connection.close()
                throw error
            }
        }
    }
}

/// A connection whose first packet was read before it was handed over; `receive` returns that packet first.
private final class OpenedConnection: SocketConnection {
    private let connection: any SocketConnection
    private let first: Guarded<String?>
    private let onSecond: Guarded<(@Sendable (_ isCutOff: Bool) -> Void)?>

    /// - Parameter onSecond: called once: when the second packet arrives, or when the connection ends before it.
    init(
        _ connection: any SocketConnection, first: String, onSecond: @escaping @Sendable (_ isCutOff: Bool) -> Void
    ) {
        self.connection = connection
        self.first = Guarded(first)
        self.onSecond = Guarded(onSecond)
    }

    func send(_ text: String) async throws { try await connection.send(text) }

    func receive() async throws -> String {
        if let text = first.withLock({ $0.take() }) { return text }
        do {
            let text = try await connection.receive()
            onSecond.withLock { $0.take() }?(false)
            return text
        } catch {
            // A cancelled receiver says nothing about the network.
            if !(error is CancellationError) { onSecond.withLock { $0.take() }?(true) }
            throw error
        }
    }

    func close() { connection.close() }
}

extension FallbackTransport {
    /// Returns the transport of an app that passes none.
    static func standard(over http: any HTTPTransport, clock: any ClientClock) -> any SocketTransport {
        let polling = PollingTransport(http: http)
        #if canImport(Darwin)
            return FallbackTransport(webSockets: WebSocketTransport(), polling: polling, clock: clock)
        #else
            return polling
        #endif
    }
}
