import JSON

/// What to do, in this order, after something happened to a `SocketIOSession`.
public enum SocketIOAction: Sendable, Equatable {
    case send(OutgoingPacket)
    /// Answer with the session's `accept` or `refuse`, now or later.
    case checkConnect(namespace: String, auth: JSONValue?)
    case event(SocketIOEvent)
    /// The event is not to be done; its ack, if it wants one, is still to be sent.
    case refuse(SocketIOEvent, SocketIORefusal)
    case ack(namespace: String, id: Int, arguments: [JSONValue], attachments: [[UInt8]])
    /// The client left this namespace.
    case disconnected(namespace: String)
    /// The last action: the Engine.IO session has to be closed.
    case close(ProtocolViolation)
}
