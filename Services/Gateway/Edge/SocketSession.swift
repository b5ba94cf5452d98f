import Contracts
import Delivery
import Edge
import GatewayCatalog
import JSON
import Reactor
import SocketIO

/// A person's connected socket in its front: its identity, and its running and waiting events. It stays on
/// its loop.
final class SocketSession {
    let socket: Socket
    /// The socket's id in this process: in presence, in the tables of sockets, and in request ids.
    let id: String
    let caller: Caller
    /// The login session in its token; nil if the token has none. The socket is disconnected when this session ends.
    let sessionID: String?
    let address: IPAddress
    /// The same socket in the fan-out.
    let subscriber: Subscriber.Handle
    var expiry: LoopTimer?

    /// The events that wait: for the catch-up, for a join or leave, or for a free slot. Their deadlines count from
    /// their arrival, so they keep running.
    var waiting = WaitingEvents()
    /// True while the socket is being caught up, or a join, leave or typing event is being handled. Later events wait.
    var isChangingRooms = false
    /// True while more waiting events are to start in the loop's next turn.
    var isResuming = false
    /// The events in progress, including those that are held.
    private var inFlight = 0
    /// The messages among them.
    private var messagesInFlight = 0
    var held = HeldEvents()
    /// True once its session has ended; events that are still held are refused.
    var isEnded = false

    /// The limit of requests of one socket that are in progress at services: one, if several could overtake each
    /// other on the bus.
    private let maxInFlight: Int

    init(
        _ socket: Socket, id: String, caller: Caller, sessionID: String?, keepsOrder: Bool, on loop: EventLoop
    ) {
        maxInFlight = keepsOrder ? 128 : 1
        self.socket = socket
        self.id = id
        self.caller = caller
        self.sessionID = sessionID
        address = socket.handshake.client
        subscriber = Subscriber.Handle(Subscriber(socket, caller: caller), to: loop)
    }

    var isConnected: Bool { subscriber.object.isConnected }

    /// Returns true if an event may start. A join waits for all events in progress, as the events of earlier requests
    /// would otherwise arrive after its ack. A leave, or typing, must not overtake what was sent before: a message
    /// would end the typing that began after it.
    func mayStart(_ event: SocketIOEvent) -> Bool {
        guard !isChangingRooms, inFlight < maxInFlight else { return false }
        return switch event.name {
        case "room:join": inFlight == 0
        case "room:leave", "message:typing": held.isEmpty && messagesInFlight == 0
        default: true
        }
    }

    func begin(_ request: SocketRequest) { count(request, 1) }

    func end(_ request: SocketRequest) { count(request, -1) }

    private func count(_ request: SocketRequest, _ change: Int) {
        inFlight += change
        if request.event.name == "message:send" { messagesInFlight += change }
    }
}

/// An event to answer, with its request id and deadline.
struct SocketRequest: Sendable {
    /// The event with only its first argument, and nothing else of its message.
    let event: SocketIOEvent
    let origin: RequestOrigin
    /// The approximate memory that it takes.
    let size: Int
    /// The bytes that it counts as written: `size`, or its message's length if that is more.
    let writtenBytes: Int

    /// - Parameter bytes: the size of its message; 0 if it is not known.
    init(_ event: SocketIOEvent, ofBytes bytes: Int, origin: RequestOrigin) {
        self.event = event.withFirstArgumentCopied()
        self.origin = origin
        size = Self.overhead + event.name.utf8.count + (event.arguments.first?.bytes.count ?? 0)
        writtenBytes = max(size, bytes)
    }

    private static let overhead = 256

    /// - Throws: `malformed_request`.
    var payload: JSONValue {
        get throws(ServiceError) {
            guard let payload = event.arguments.first, payload.kind == .object else {
                throw ServiceError(.malformedRequest, "The event's payload has to be a JSON object.")
            }
            return payload
        }
    }
}

/// A socket's waiting events in order, up to a limit.
struct WaitingEvents {
    static let maxCount = 4096
    static let maxBytes = 4 << 20

    private var arrived: [SocketRequest] = []
    /// The earlier half, reversed, so that taken events are released at once.
    private var leaving: [SocketRequest] = []
    /// The approximate memory of the waiting events.
    private(set) var bytes = 0

    var isEmpty: Bool { arrived.isEmpty && leaving.isEmpty }

    /// - Returns: false if there is no room: the client sends without waiting for answers.
    mutating func append(_ request: SocketRequest) -> Bool {
        guard arrived.count + leaving.count < Self.maxCount, bytes + request.size <= Self.maxBytes else { return false }
        bytes += request.size
        arrived.append(request)
        return true
    }

    var first: SocketRequest? { leaving.last ?? arrived.first }

    mutating func popFirst() -> SocketRequest? {
        if leaving.isEmpty {
            leaving = arrived.reversed()
            arrived = []
        }
        guard let request = leaving.popLast() else { return nil }
        bytes -= request.size
        return request
    }
}
