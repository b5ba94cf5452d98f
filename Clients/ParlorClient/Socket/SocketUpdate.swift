/// An update of a `RoomsSocket`. They come in this order: `connecting`, `connected`, the missed
/// events, `recovered`, live events, `disconnected`; after a reconnect from `connected` on again.
public enum SocketUpdate: Sendable, Equatable {
    /// The socket was started.
    case connecting
    case connected
    /// An event. Missed events are as they were sent at their time; some may have been delivered
    /// before, in the same order.
    case event(RoomEvent)
    /// True if the server has replayed all missed events of the rooms. If false, everything shown has to be
    /// fetched. That is so after the first connect, and later if a joined room cannot be caught up.
    case recovered(Bool)
    /// The connection has ended, or the first attempt to connect has failed. The socket reconnects
    /// by itself if the failure ``ClientFailure/isRetryable``.
    case disconnected(ClientFailure)
}
