/// What a `RoomsSocket` tells, in this order: `connecting`, `connected`, the events that were missed, `recovered`, live events,
/// `disconnected`, and from `connected` on again when it comes back.
public enum SocketUpdate: Sendable, Equatable {
    /// It was started.
    case connecting
    case connected
    /// What was missed is told as it was told then; some of it may have been told before, in the same order.
    case event(RoomEvent)
    /// The server has told all that was missed in the rooms. False: it cannot, and what is shown has to be fetched anew; so it is
    /// after the first connect, and it may also come later, when a room that is joined could not be caught up with.
    case recovered(Bool)
    /// Or an attempt to connect has failed, if it is the first one. It comes back by itself if the failure
    /// ``ClientFailure/isRetryable``.
    case disconnected(ClientFailure)
}
