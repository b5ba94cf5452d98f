import ParlorHTTP
import ParlorJSON
import ParlorReactor
import ParlorSocketIO

/// A handle of one client, whatever transport it uses. To be used on its loop only. Two handles of one client
/// are equal.
public struct Socket: Sendable, Hashable {
    private let connection: LoopBound<EngineConnection>

    init(_ connection: LoopBound<EngineConnection>) { self.connection = connection }

    /// The Engine.IO session's id. Anyone who knows it can act as the client, so never show it to others.
    public var id: String { connection.object.engine.id }
    public var handshake: SocketHandshake { connection.object.handshake }
    public var loop: EventLoop { connection.loop }

    /// False once the socket has closed; later packets are dropped.
    public var isOpen: Bool { connection.object.engine.isOpen }

    /// The application's own state. Released when the socket has closed.
    public var context: AnyObject? {
        get { connection.object.context }
        nonmutating set { connection.object.context = newValue }
    }

    /// The connected person. The buffered bytes of all of a person's sockets and requests count together.
    public var person: String? {
        get { connection.object.person }
        nonmutating set { connection.object.person = newValue }
    }

    // MARK: Connecting

    /// Answers a CONNECT with `{"sid": …}` and the payload's members. The events that waited are delivered
    /// before this returns.
    public func accept(_ namespace: String = SocketIOPacket.mainNamespace, payload: JSONValue? = nil) {
        connection.object.accept(namespace, payload: payload)
    }

    /// Answers a CONNECT with a CONNECT_ERROR. The client may try again on this socket.
    public func refuse(_ namespace: String = SocketIOPacket.mainNamespace, _ error: JSONValue) {
        connection.object.refuse(namespace, error: error)
    }

    public func isConnected(to namespace: String = SocketIOPacket.mainNamespace) -> Bool {
        connection.object.isConnected(to: namespace)
    }

    // MARK: Sending

    /// Queues a packet; a turn's packets go out together. If a client would then have more than
    /// `EdgeConfiguration.maxUnsentBytes` waiting, it is disconnected instead.
    ///
    /// - Parameter droppable: true to drop the packet if half of that is waiting. For events that are useless when
    ///   late, or that can be sent again later.
    /// - Returns: false if it was dropped.
    @discardableResult
    public func send(_ packet: OutgoingPacket, droppable: Bool = false) -> Bool {
        connection.object.send(packet, droppable: droppable)
    }

    public func send(_ packets: [OutgoingPacket]) {
        for packet in packets { connection.object.send(packet) }
    }

    /// Queues each packet of a batch, in order.
    public func send(_ batch: OutgoingBatch) { connection.object.send(batch) }

    /// Sends an event in the main namespace.
    public func emit(_ event: String, _ arguments: JSONValue...) { send(.event(event, arguments)) }

    /// The approximate memory of the output that the client has not taken yet.
    public var unsentCost: Int { connection.object.unsentCost }

    /// Counts memory that the application holds for the client, such as events in progress, as part of the
    /// client's buffered bytes.
    ///
    /// - Parameter change: the increase, or a negative number for a decrease, which is always granted. The
    ///   bytes count until they are given back, also after the socket has closed.
    /// - Returns: the reason of a refusal (`EdgeLimits.bufferedBytes`), in which case the change is not
    ///   counted.
    @discardableResult
    public func noteHeld(change: Int) -> BufferRefusal? {
        connection.object.noteHeld(change: change).map { $0 == .total ? .total : .own }
    }

    // MARK: Closing

    /// Sends DISCONNECT in every namespace, then closes. Client libraries do not reconnect by themselves
    /// after that.
    public func disconnect() { connection.object.leave() }

    /// Closes without a DISCONNECT, so client libraries reconnect by themselves.
    public func closeTransport() { connection.object.close(.engine(.closedByServer)) }
}

/// The reason why nothing more is buffered for a client.
public enum BufferRefusal: Sendable {
    /// The client's address or person is at its limit.
    case own
    /// The clients together are at the limit.
    case total
}

/// The part of the opening request that a socket keeps: as little as an idle socket should hold.
public struct SocketHandshake: Sendable {
    /// The `token` of the query.
    public let token: String?
    /// The `Authorization` field, whole.
    public let authorization: String?
    /// The peer, or the client of a trusted proxy.
    public let client: IPAddress

    /// The length limit of both together. Longer ones are invalid and are not kept: each client chooses its token, and many
    /// sockets may keep one while they wait.
    static let maxTokenLength = 8 * 1024

    init(of request: HTTPRequest, _ query: HTTPQuery, from client: IPAddress) {
        var room = Self.maxTokenLength
        func kept(_ text: String?) -> String? {
            guard let text, text.utf8.count <= room else { return nil }
            room -= text.utf8.count
            return text
        }
        token = kept(query["token"])
        authorization = kept(request.headers["Authorization"])
        self.client = client
    }
}
