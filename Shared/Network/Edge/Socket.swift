import ParlorHTTP
import ParlorJSON
import ParlorReactor
import ParlorSecurity
import ParlorSocketIO

/// A handle of one client, whatever transport it uses: its Socket.IO layer, over the Engine.IO session. To be used on
/// its loop only. Two handles of one client are equal.
public struct Socket: Sendable, Hashable {
    private let bound: LoopBound<EngineConnection>
    private var session: EngineConnection { bound.object }

    init(_ session: LoopBound<EngineConnection>) { bound = session }

    /// The Engine.IO session's id. Anyone who knows it can act as the client, so never show it to others.
    public var id: String { session.engine.id }
    public var handshake: SocketHandshake { session.handshake }
    public var loop: EventLoop { bound.loop }

    /// False once the socket has closed; later packets are dropped.
    public var isOpen: Bool { session.engine.isOpen }

    /// The application's own state. Released when the socket has closed.
    public var context: AnyObject? {
        get { session.context }
        nonmutating set { session.context = newValue }
    }

    /// The connected person. The buffered bytes of all of a person's sockets and requests count together.
    public var person: String? {
        get { session.person }
        nonmutating set { session.person = newValue }
    }

    // MARK: Connecting

    /// Answers a CONNECT with `{"sid": …}` and the payload's members. The events that waited are delivered
    /// before this returns.
    public func accept(_ namespace: String = SocketIOPacket.mainNamespace, payload: JSONValue? = nil) {
        let session = session
        let actions = session.socketIO.accept(
            namespace, sid: Base64URL.encode(session.edge.randomness.bytes(15)), payload: payload)
        if actions.isEmpty { return }
        session.didConnect()
        for action in actions { perform(action) }
    }

    /// Answers a CONNECT with a CONNECT_ERROR. The client may try again on this socket.
    public func refuse(_ namespace: String = SocketIOPacket.mainNamespace, _ error: JSONValue) {
        if let action = session.socketIO.refuse(namespace, error: error) { perform(action) }
    }

    public func isConnected(to namespace: String = SocketIOPacket.mainNamespace) -> Bool {
        session.socketIO.isConnected(to: namespace)
    }

    // MARK: Receiving

    /// The size over which a message is previewed before it is parsed: checking a megabyte of JSON takes up
    /// to 10 ms, the preview a tenth of a millisecond.
    private static let largeMessage = 16 * 1024

    /// Handles a message of the session.
    func receive(_ message: EnginePacket) {
        let session = session
        guard session.takesMessages else { return }
        guard session.admitMessage() else { return session.close(.tooManyMessages) }
        if let takeMessage = session.endpoint.takeMessage {
            takeMessage(self, message)
        } else if message.payload.count <= Self.largeMessage || takesLarge(message),
            let action = session.socketIO.receive(message)
        {
            perform(action, ofBytes: message.payload.count)
        }
    }

    private func takesLarge(_ message: EnginePacket) -> Bool {
        switch session.socketIO.preview(of: message) {
        case .event(let event): session.edge.sockets?.socket(self, takes: event, ofBytes: message.payload.count) ?? true
        // No server here asks its clients for acks.
        case .ack, .ignored: false
        case nil: true
        }
    }

    /// - Parameter bytes: the size of the message that caused the action, if it has just arrived.
    private func perform(_ action: SocketIOAction, ofBytes bytes: Int = 0) {
        let session = session
        guard session.takesMessages else { return }
        let delegate = session.edge.sockets
        switch action {
        case .send(let packet): session.send(packet)
        case .checkConnect(let namespace, let auth): delegate?.socket(self, asksToConnect: namespace, auth: auth)
        // A handler of an earlier event may have ended the connection to the namespace.
        case .event(let event) where session.socketIO.isConnected(to: event.namespace):
            delegate?.socket(self, received: event, ofBytes: bytes)
        case .refuse(let event, let refusal) where session.socketIO.isConnected(to: event.namespace):
            delegate?.socket(self, refused: event, ofBytes: bytes, because: refusal)
        case .event, .refuse: break
        // No server here asks its clients for acks.
        case .ack: break
        case .disconnected(let namespace):
            delegate?.socket(self, leftNamespace: namespace)
            if session.socketIO.connectedNamespaces.isEmpty { session.didLeave() }
        case .close(let violation): session.close(.engine(.violation(violation)))
        }
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
        session.send(packet, droppable: droppable)
    }

    public func send(_ packets: [OutgoingPacket]) {
        for packet in packets { session.send(packet) }
    }

    /// Queues each packet of a batch, in order.
    public func send(_ batch: OutgoingBatch) { session.send(batch) }

    /// Sends an event in the main namespace.
    public func emit(_ event: String, _ arguments: JSONValue...) { send(.event(event, arguments)) }

    /// The approximate memory of the output that the client has not taken yet.
    public var unsentCost: Int { session.unsentCost }

    /// Counts memory that the application holds for the client, such as events in progress, as part of the
    /// client's buffered bytes.
    ///
    /// - Parameter change: the increase, or a negative number for a decrease, which is always granted. The
    ///   bytes count until they are given back, also after the socket has closed.
    /// - Returns: the reason of a refusal (`EdgeLimits.bufferedBytes`), in which case the change is not
    ///   counted.
    @discardableResult
    public func noteHeld(change: Int) -> BufferRefusal? {
        session.noteHeld(change: change).map { $0 == .total ? .total : .own }
    }

    // MARK: Closing

    /// Sends DISCONNECT in every namespace, then closes. Client libraries do not reconnect by themselves
    /// after that.
    public func disconnect() {
        let session = session
        let namespaces = session.socketIO.connectedNamespaces
        for namespace in namespaces { if let action = session.socketIO.disconnect(namespace) { perform(action) } }
        session.leave()
        // A polling client stays until it has fetched the packets or times out. It is not a member of
        // anything meanwhile.
        if session.engine.isClosed { return }
        for namespace in namespaces { session.edge.sockets?.socket(self, leftNamespace: namespace) }
    }

    /// Closes without a DISCONNECT, so client libraries reconnect by themselves.
    public func closeTransport() { session.close(.engine(.closedByServer)) }

    /// Closes like `closeTransport`, and drops what waits to be written.
    public func abandonTransport() { session.close(.abandoned) }
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
