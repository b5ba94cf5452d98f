import JSON

/// An event from a client.
public struct SocketIOEvent: Sendable, Equatable {
    public let namespace: String
    public let name: String
    /// With the placeholders of attachments as they came.
    public let arguments: [JSONValue]
    public let attachments: [[UInt8]]
    /// If the client waits for an ack.
    public let ackID: Int?
}

/// Why an event is not delivered, though its session goes on.
public enum SocketIORefusal: Sendable, Equatable {
    /// It came with attachments, which this server does not take. They are left out.
    case attachments
    /// Its arguments, which are left out, are nested deeper than `JSONValue.defaultMaxDepth`, or than 32 levels with
    /// attachments.
    case depth
}
