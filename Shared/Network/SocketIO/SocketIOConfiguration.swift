/// Where a server's Socket.IO may differ from the reference server's.
public struct SocketIOConfiguration: Sendable {
    /// What to do with a packet that is well-formed but not expected: an event on a namespace that is not connected,
    /// a second CONNECT, an answer nobody waits for.
    public enum OutOfPlacePackets: Sendable {
        /// As the reference server does.
        case close
        /// A client that was refused, and sends on until it reads that, can connect again on the same engine.
        case ignore
    }

    /// That a client can connect to.
    public var namespaces: Set<String>
    public var outOfPlacePackets: OutOfPlacePackets
    /// False: an event with attachments is reported as refused, its attachments are skipped, the session goes on.
    public var acceptsAttachments: Bool
    /// Of one packet; more close the session.
    public var maxAttachments: Int
    /// Of one packet's attachments together; more close the session.
    public var maxAttachmentBytes: Int
    /// Memory, about, of events that wait while their namespace's CONNECT is checked; more close the session.
    public var maxQueuedBytes: Int

    public init(
        namespaces: Set<String> = [SocketIOPacket.mainNamespace], outOfPlacePackets: OutOfPlacePackets = .close,
        acceptsAttachments: Bool = true, maxAttachments: Int = 64, maxAttachmentBytes: Int = 1 << 20,
        maxQueuedBytes: Int = 1 << 20
    ) {
        self.namespaces = namespaces
        self.outOfPlacePackets = outOfPlacePackets
        self.acceptsAttachments = acceptsAttachments
        self.maxAttachments = maxAttachments
        self.maxAttachmentBytes = maxAttachmentBytes
        self.maxQueuedBytes = maxQueuedBytes
    }
}
