import ParlorJSON

/// The settings in which a server's Socket.IO may differ from the reference server's.
public struct SocketIOConfiguration: Sendable {
    /// The treatment of a well-formed packet that is not expected. Examples are a second CONNECT, and an event or an
    /// ack on a namespace that is not connected.
    public enum UnexpectedPackets: Sendable {
        /// Close the session, as the reference server does.
        case close
        /// Ignore the packet. A client that was refused, and keeps sending until it reads the refusal, can
        /// then connect again on the same engine.
        case ignore
    }

    /// The namespaces that a client can connect to.
    public var namespaces: Set<String>
    public var unexpectedPackets: UnexpectedPackets
    /// True if events may have attachments. If false, such an event is reported as refused, its attachments
    /// are skipped, and the session continues.
    public var acceptsAttachments: Bool
    /// The maximum number of one packet's attachments. A packet with more closes the session.
    public var maxAttachments: Int
    /// The maximum size of one packet's attachments together. A packet with more bytes closes the session.
    public var maxAttachmentBytes: Int
    /// The approximate maximum memory of the events that wait while their namespace's CONNECT is checked. An event that
    /// exceeds it closes the session.
    public var maxQueuedBytes: Int

    public init(
        namespaces: Set<String> = [SocketIOPacket.mainNamespace], unexpectedPackets: UnexpectedPackets = .close,
        acceptsAttachments: Bool = true, maxAttachments: Int = 64, maxAttachmentBytes: Int = 1 << 20,
        maxQueuedBytes: Int = 1 << 20
    ) {
        self.namespaces = namespaces
        self.unexpectedPackets = unexpectedPackets
        self.acceptsAttachments = acceptsAttachments
        self.maxAttachments = maxAttachments
        self.maxAttachmentBytes = maxAttachmentBytes
        self.maxQueuedBytes = maxQueuedBytes
    }
}

/// The kind of a message, as its first bytes show it.
public enum SocketIOPreview: Sendable, Equatable {
    /// An event with its name and without arguments.
    case event(SocketIOEvent)
    case ack
    /// A message that `receive` would ignore.
    case ignored
}

/// An event from a client.
public struct SocketIOEvent: Sendable, Equatable {
    public let namespace: String
    public let name: String
    /// The arguments, with the placeholders of attachments as they were sent.
    public let arguments: [JSONValue]
    public let attachments: [[UInt8]]
    /// The id of the ack, if the client waits for one.
    public let ackID: Int?
}

/// The reason why an event is not delivered, although its session continues.
public enum SocketIORefusal: Sendable, Equatable {
    /// The event has attachments, which this server does not take. They are left out.
    case attachments
    /// The event's arguments are nested deeper than `JSONValue.defaultMaxDepth`, or than 32 levels with
    /// attachments. They are left out.
    case depth
    /// The event's arguments are JSON with a string that is refused, because it has half a surrogate pair or too many
    /// combining marks in a row. They are left out.
    case text
    /// The event's arguments are JSON with a number that is too long (`JSONValue.maxNumberLength`) or beyond a double. They
    /// are left out.
    case number
}

/// The action to take after an event of a `SocketIOSession`.
public enum SocketIOAction: Sendable, Equatable {
    case send(OutgoingPacket)
    /// Answer with the session's `accept` or `refuse`, now or later.
    case checkConnect(namespace: String, auth: JSONValue?)
    case event(SocketIOEvent)
    /// Do not process the event. If it requests an ack, the ack still has to be sent.
    case refuse(SocketIOEvent, SocketIORefusal)
    case ack(namespace: String, id: Int, arguments: [JSONValue], attachments: [[UInt8]])
    /// The client left this namespace.
    case disconnected(namespace: String)
    /// Close the Engine.IO session. This is the last action.
    case close(ProtocolViolation)
}
