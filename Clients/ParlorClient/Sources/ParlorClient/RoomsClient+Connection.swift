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
        /// client, the device cannot delete the data of an interrupted sign-out (`not_forgotten`), or another client has
        /// the person's folder (`in_use`).
        case ended(ClientFailure)
    }
}
