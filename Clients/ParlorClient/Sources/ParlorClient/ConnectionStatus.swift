import Observation

/// What a client knows of its connection. Each change is logged.
@MainActor
@Observable
final class ConnectionStatus {
    private(set) var connection = RoomsClient.Connection.idle
    private(set) var isPolling = false
    /// True without a connection, and on a new one until all missed events have arrived.
    @ObservationIgnored private(set) var isBehind = true
    /// The number of events that were replayed on this connection.
    @ObservationIgnored private var replayedCount = 0
    @ObservationIgnored private let log: ClientLog

    init(log: ClientLog) { self.log = log }

    /// Notes that the person's folder cannot be used, so that nothing starts.
    func noteUnusable(_ failure: ClientFailure) {
        log.error(.storage, "not started", for: failure)
        connection = .ended(failure)
    }

    /// - Parameter isPolling: whether the transport's last connection polls.
    func apply(_ update: SocketUpdate, isPolling: Bool) {
        switch update {
        case .connecting:
            log.info(.connection, "connecting")
            connection = .connecting
        case .connected:
            if isPolling, !self.isPolling { log.warning(.connection, "polling, without a WebSocket") }
            log.info(.connection, "connected", ["transport": isPolling ? "polling" : "websocket"])
            (connection, self.isPolling, replayedCount) = (.connected, isPolling, 0)
        case .event: if isBehind { replayedCount += 1 }
        case .recovered(let isWhole):
            log.info(.connection, "caught up", ["whole": "\(isWhole)", "events": "\(replayedCount)"])
            isBehind = false
        case .joined: break
        case .refusedRoom(let roomID, let failure): log.error(.connection, "refused", ["room": roomID], for: failure)
        case .disconnected(let failure):
            isBehind = true
            if failure == ClientFailure.stopped {
                log.info(.connection, "stopped")
                connection = .idle
            } else if failure.isRetryable {
                log.warning(.connection, "disconnected", for: failure)
                connection = .waiting(failure)
            } else {
                log.error(.connection, "ended", for: failure)
                connection = .ended(failure)
            }
        }
    }
}
