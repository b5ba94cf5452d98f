import HTTP
import JSON
import Reactor
import SocketIO

/// One client, whatever transport it uses: a handle, to be used on its loop only. Two of one client are equal.
public struct Socket: Sendable, Hashable {
    private let connection: LoopBound<EngineConnection>

    init(_ connection: LoopBound<EngineConnection>) { self.connection = connection }

    /// The Engine.IO session's id. Whoever knows it can speak as the client: not to be shown to others.
    public var id: String { connection.object.engine.id }
    public var handshake: SocketHandshake { connection.object.handshake }
    public var loop: EventLoop { connection.loop }

    /// False once it has closed; what is sent then is dropped.
    public var isOpen: Bool { connection.object.engine.isOpen }

    /// For the application's own state. Released when the socket has closed.
    public var context: AnyObject? {
        get { connection.object.context }
        nonmutating set { connection.object.context = newValue }
    }

    /// The connected person. What is buffered for all sockets and requests of a person counts together.
    public var person: String? {
        get { connection.object.person }
        nonmutating set { connection.object.person = newValue }
    }

    // MARK: Connecting

    /// Answers a CONNECT, with `{"sid": …}` and the payload's members; the events that waited follow before this returns.
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

    /// Queues a packet; a turn's packets go out together. A client that would then have more than
    /// `EdgeConfiguration.maxUnsentBytes` waiting is cut off instead.
    ///
    /// - Parameter droppable: the packet is dropped if half of that is waiting: for what is of use only at once, or can be
    ///   told later.
    /// - Returns: false if it was dropped for that.
    @discardableResult
    public func send(_ packet: OutgoingPacket, droppable: Bool = false) -> Bool {
        connection.object.send(packet, droppable: droppable)
    }

    public func send(_ packets: [OutgoingPacket]) {
        for packet in packets { connection.object.send(packet) }
    }

    /// As each of its packets, one after the other.
    public func send(_ batch: OutgoingBatch) { connection.object.send(batch) }

    /// An event in the main namespace.
    public func emit(_ event: String, _ arguments: JSONValue...) { send(.event(event, arguments)) }

    /// The answer to an event in the main namespace.
    public func ack(_ id: Int, _ arguments: JSONValue...) { send(.ack(id, arguments)) }

    /// The memory, about, of what the client has not taken yet.
    public var unsentCost: Int { connection.object.unsentCost }

    /// Counts, among the client's buffered bytes, what the application keeps for it in memory: events that it works on, for example.
    ///
    /// - Parameter change: how much more it is by now, or less. Less is always granted. It counts until it is given back, also when the
    ///   socket has closed.
    /// - Returns: why the client may not have so much (`EdgeLimits.bufferedBytes`): the change is not counted then.
    @discardableResult
    public func noteHeld(change: Int) -> BufferRefusal? {
        connection.object.noteHeld(change: change).map { $0 == .total ? .total : .own }
    }

    // MARK: Closing

    /// Says DISCONNECT in every namespace, then closes. Client libraries do not come back from that by themselves.
    public func disconnect() { connection.object.leave() }

    /// Closes without a word: client libraries come back by themselves.
    public func closeTransport() { connection.object.close(.engine(.closedByServer)) }
}

/// Why nothing more is buffered for a client.
public enum BufferRefusal: Sendable {
    /// Its address or its person has as much as it may have.
    case own
    /// All clients together have.
    case total
}

/// The kept part of the request that opened a socket: as little as an idle socket should hold.
public struct SocketHandshake: Sendable {
    /// The `token` of the query.
    public let token: String?
    /// The `Authorization` field, whole; nil if the query has a token.
    public let authorization: String?
    /// The peer, or whoever a trusted proxy spoke for.
    public let client: IPAddress

    /// Longer ones are no tokens, and are not kept: a client chooses them, and many may wait.
    static let maxTokenLength = 8 * 1024

    init(of request: HTTPRequest, _ query: HTTPQuery, from client: IPAddress) {
        func kept(_ text: String?) -> String? { text.flatMap { $0.utf8.count <= Self.maxTokenLength ? $0 : nil } }
        let given = query["token"]
        token = kept(given)
        authorization = given == nil ? kept(request.headers["Authorization"]) : nil
        self.client = client
    }
}
