extension RoomsClient {
    /// The state of the connection, for a line above the list.
    public enum Connection: Equatable, Sendable {
        /// Not started, or stopped.
        case idle
        case connecting
        case connected
        /// It comes back by itself.
        case waiting(ClientFailure)
        /// It does not, until it is started again: nobody is signed in, or the server refuses for good.
        case ended(ClientFailure)
    }
}

extension RoomsClient.Connection {
    init(endedBy failure: ClientFailure) {
        guard failure != RoomsSocket.stopped else {
            self = .idle
            return
        }
        self = failure.isRetryable ? .waiting(failure) : .ended(failure)
    }
}
