/// What a `RoomsSocket` tells, in this order: `connected`, the events that were missed, `recovered`, live events, `disconnected`.
public enum SocketHappening: Sendable, Equatable {
    case connected
    case event(RoomEvent)
    /// The server has told all that was missed. False: it cannot, and what is shown has to be fetched anew.
    case recovered(Bool)
    /// It comes back by itself, but after `signedOut`.
    case disconnected(ClientFailure)
}
