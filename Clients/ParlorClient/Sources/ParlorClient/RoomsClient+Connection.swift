extension RoomsClient {
    /// The state of the connection to the server, for example for a status line above the list of rooms.
    public enum Connection: Equatable, Sendable {
        /// The client was not started, or was stopped.
        case idle
        case connecting
        case connected
        /// The connection is lost, or the first attempt has failed. The client retries after a pause.
        case waiting(ClientFailure)
        /// There is no connection, and the client does not retry until ``RoomsClient/start()`` or
        /// ``RoomsClient/enterForeground()`` is called. Nobody is signed in, the server permanently refuses this
        /// client, or the device cannot delete the data of an interrupted sign-out (`not_forgotten`).
        case ended(ClientFailure)
    }
}

extension RoomsClient.Connection {
    init(endedBy failure: ClientFailure) {
        guard failure != ClientFailure.stopped else {
            self = .idle
            return
        }
        self = failure.isRetryable ? .waiting(failure) : .ended(failure)
    }
}

extension RoomsClient {
    /// Returns the transport of an app that passes none.
    static func makeTransport(_ http: any HTTPTransport, _ clock: any ClientClock) -> any SocketTransport {
        let polling = PollingTransport(http: http)
        #if canImport(Darwin)
            return FallbackTransport(webSockets: WebSocketTransport(), polling: polling, clock: clock)
        #else
            return polling
        #endif
    }

    /// Reconnects at once when a better network is available, without a pause and before a dead connection is noticed.
    func watchPaths() {
        guard watchingPaths == nil else { return }
        watchingPaths = Task { [weak self, paths] in
            for await _ in paths.improvements() {
                // Only the socket is retained during the call, so that the client can be released.
                guard let socket = self?.socket, !Task.isCancelled else { return }
                await socket.useBetterNetwork()
            }
        }
    }

    /// Logs a change of the connection. Call it before the change is applied.
    func log(_ update: SocketUpdate) {
        switch update {
        case .connecting: log.info(.connection, "connecting")
        case .connected:
            replayedCount = 0
            let isPolling = transport.isPolling
            if isPolling, !self.isPolling { log.warning(.connection, "polling, without a WebSocket") }
            log.info(.connection, "connected", ["transport": isPolling ? "polling" : "websocket"])
        case .event: if isBehind { replayedCount += 1 }
        case .recovered(let isWhole):
            log.info(.connection, "caught up", ["whole": "\(isWhole)", "events": "\(replayedCount)"])
        case .joined: break
        case .refusedRoom(let roomID, let failure): log.error(.connection, "refused", ["room": roomID], for: failure)
        case .disconnected(let failure):
            switch Connection(endedBy: failure) {
            case .idle: log.info(.connection, "stopped")
            case .ended: log.error(.connection, "ended", for: failure)
            default: log.warning(.connection, "disconnected", for: failure)
            }
        }
    }
}
