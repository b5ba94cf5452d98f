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
