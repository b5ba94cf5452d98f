import Contracts
import Delivery
import Edge
import GatewayCatalog
import JSON
import Reactor
import SocketIO

/// A person's connected socket, as its front knows it: who it is, and which of its events are under way or wait. It stays on its loop.
final class SocketSession {
    let socket: Socket
    /// Names it to the presence of this process; says nothing to anyone else.
    let id: String
    let caller: Caller
    /// The session of its token, and when it ends, it ends; nil for a token that names none.
    let sessionID: String?
    let address: IPAddress
    /// The same socket, as the fan-out knows it.
    let subscriber: Subscriber.Handle
    var expiry: LoopTimer?

    /// Events that wait: to be caught up, for a join or leave to be done, or for a free slot under way. Their time runs.
    var waiting = WaitingEvents()
    /// True while a join, leave or typing event is handled: later events wait.
    var isChangingRooms = false
    var inFlight = 0

    /// Requests of one socket that services work on at a time. One, where several on their way could overtake each other.
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

    /// A join waits for what is under way: the echo of what was sent before it would come after its ack otherwise.
    func mayStart(_ event: SocketIOEvent) -> Bool {
        !isChangingRooms && inFlight < (event.name == "room:join" ? 1 : maxInFlight)
    }
}

/// An event that asks for something, from when it came.
struct SocketRequest: Sendable {
    /// With its first argument alone, and nothing else of the message that it came in.
    let event: SocketIOEvent
    let origin: RequestOrigin
    /// The memory that it takes, about.
    let size: Int
    /// The bytes that it counts as written: `size`, or its message's length if that is more.
    let writtenBytes: Int

    /// - Parameter bytes: of its message, if that is known.
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

/// A socket's events in their order, up to a limit.
struct WaitingEvents {
    static let maxCount = 4096
    static let maxBytes = 4 << 20

    private var arrived: [SocketRequest] = []
    /// The earlier half, turned round: what is taken is let go of at once.
    private var leaving: [SocketRequest] = []
    /// The memory, about, of those that wait.
    private(set) var bytes = 0

    var isEmpty: Bool { arrived.isEmpty && leaving.isEmpty }

    /// - Returns: false if there is no room: the client sends without regard to answers.
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
