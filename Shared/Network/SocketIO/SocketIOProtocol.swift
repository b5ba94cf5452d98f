import JSON

/// Settings in which a server's Socket.IO may differ from the reference server's.
public struct SocketIOConfiguration: Sendable {
    /// The treatment of a well-formed packet that is not expected: an event on a namespace that is
    /// not connected, a second CONNECT, an ack that nobody waits for.
    public enum UnexpectedPackets: Sendable {
        /// As the reference server does.
        case close
        /// A client that was refused, and sends on until it reads that, can connect again on the same engine.
        case ignore
    }

    /// That a client can connect to.
    public var namespaces: Set<String>
    public var unexpectedPackets: UnexpectedPackets
    /// False: an event with attachments is reported as refused, its attachments are skipped, the session goes on.
    public var acceptsAttachments: Bool
    /// The maximum of one packet's attachments; more close the session.
    public var maxAttachments: Int
    /// The maximum size of one packet's attachments together; more close the session.
    public var maxAttachmentBytes: Int
    /// Memory, about, of events that wait while their namespace's CONNECT is checked; more close the session.
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

/// A message by its first bytes.
public enum SocketIOPreview: Sendable, Equatable {
    /// Has a name and no arguments.
    case event(SocketIOEvent)
    case ack
    /// `receive` would ignore it.
    case ignored
}

/// An event from a client.
public struct SocketIOEvent: Sendable, Equatable {
    public let namespace: String
    public let name: String
    /// With the placeholders of attachments as they came.
    public let arguments: [JSONValue]
    public let attachments: [[UInt8]]
    /// If the client waits for an ack.
    public let ackID: Int?

    /// The event with its first argument alone, copied. The arguments of the original keep alive all that came with it: its message,
    /// or the whole body of a POST.
    public func withFirstArgumentCopied() -> SocketIOEvent {
        SocketIOEvent(
            namespace: namespace, name: name,
            arguments: arguments.first.map { [$0.detached] } ?? [], attachments: [],
            ackID: ackID)
    }
}

/// The reason why an event is not delivered, although its session continues.
public enum SocketIORefusal: Sendable, Equatable {
    /// It came with attachments, which this server does not take. They are left out.
    case attachments
    /// Its arguments, which are left out, are nested deeper than `JSONValue.defaultMaxDepth`, or than 32 levels with
    /// attachments.
    case depth
}

/// The action to take after an event of a `SocketIOSession`.
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
