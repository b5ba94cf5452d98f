/// An update from a ``RoomsSocket``.
///
/// The order is: `connecting`, `connected`, the missed events, `recovered`, live events, `disconnected`. After a
/// reconnect it begins again with `connected`.
package enum SocketUpdate: Sendable, Equatable {
    /// The socket was started.
    case connecting
    case connected
    /// An event. A missed event has the payload of the time when it was first sent. Some missed events may have been
    /// delivered before; the order is the same.
    case event(RoomEvent)
    /// The replay of missed events is over. If the value is false, some events are missing, and everything shown has
    /// to be fetched again.
    ///
    /// It is false after the first connect without a cursor, and later if the server cannot replay everything. A second
    /// `recovered` with false follows if the events of a joined room cannot be replayed.
    case recovered(Bool)
    /// A room was joined. The value is the room as the server described it then.
    case joined(Room)
    /// After a reconnect the server has refused for good to let the socket join a room again. Its events no longer
    /// arrive.
    case refusedRoom(String, ClientFailure)
    /// The connection has ended, or the first attempt to connect has failed. The socket reconnects
    /// by itself if the failure ``ClientFailure/isRetryable``.
    case disconnected(ClientFailure)
}
