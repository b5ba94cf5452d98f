extension RoomsClient {
    /// The state of the connection, for a line above the list.
    public enum Connection: Equatable, Sendable {
        /// The connection was not started, or was stopped.
        case idle
        case connecting
        case connected
        /// The connection is lost, and will be retried.
        case waiting(ClientFailure)
        /// The connection ended and is not retried until it is started again: nobody is signed in,
        /// the server refuses for good, or the device cannot delete what an interrupted sign-out has
        /// left (`not_forgotten`).
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
