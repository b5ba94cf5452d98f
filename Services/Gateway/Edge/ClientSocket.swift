import ParlorContracts
import ParlorDelivery
import ParlorEdge
import ParlorReactor

/// A person's connected socket in its front: its identity, and its running and waiting events. It stays on
/// its loop.
final class ClientSocket {
    let socket: Socket
    /// The socket's id in this process: in presence, in the tables of sockets, and in request ids.
    let id: String
    let caller: Caller
    /// The session in its token; nil if the token has none. The socket is disconnected when this session ends.
    let sessionID: String?
    let address: IPAddress
    /// The same socket in the fan-out.
    let subscriber: Subscriber.Handle
    var expiry: LoopTimer?

    /// The events that wait: for the catch-up, for a join or leave, or for a free slot. Their deadlines count from
    /// their arrival, so they keep running.
    private var waiting = WaitingEvents()
    /// True while the socket is being caught up, or a join, leave or typing event is being handled. Later events wait.
    var isChangingRooms = false
    /// True while more waiting events are to start in the loop's next turn.
    var isResuming = false
    /// The events in progress at services, including those that are held.
    private var inFlight = 0
    /// Their number in each room that they name. A room is in it only while it has some.
    private var inFlightByRoom: [String: Int] = [:]
    var held = HeldEvents()
    /// True once its session has ended; events that are still held are refused.
    private(set) var isEnded = false

    /// The limit of events of one socket that are in progress at services: one, if several could overtake each
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
        subscriber = Subscriber.Handle(Subscriber(socket, id: id, caller: caller), to: loop)
    }

    var isConnected: Bool { subscriber.object.isConnected }

    // MARK: Events in progress

    /// Counts the memory of an event that has arrived. A person may have many sockets, so the events of all of them
    /// count together.
    ///
    /// - Returns: the limit that the event would exceed, in which case it is not counted.
    func take(_ event: ClientEvent) -> BufferRefusal? { socket.noteHeld(change: event.size) }

    /// Begins an event, if it may start now; otherwise it waits, or is refused.
    ///
    /// A join waits for all events in progress, as their events to clients would arrive after its ack. A leave, or typing,
    /// waits for those in its room: a message would end the typing that began after it.
    func begin(_ event: ClientEvent) -> Bool {
        guard !isChangingRooms, inFlight < maxInFlight else { return false }
        switch event.own {
        case nil:
            inFlight += 1
            if let room = event.roomID { inFlightByRoom[room, default: 0] += 1 }
        case .join where inFlight > 0: return false
        case .leave where isBusy(event.roomID), .typing where isBusy(event.roomID): return false
        case .join, .leave, .typing: isChangingRooms = true
        }
        event.began = .now()
        return true
    }

    private func isBusy(_ room: String?) -> Bool { room.map { inFlightByRoom[$0] != nil } ?? false }

    /// Releases what an event that has begun holds.
    func finish(_ event: ClientEvent) {
        socket.noteHeld(change: -event.size)
        guard event.own == nil else {
            isChangingRooms = false
            return
        }
        inFlight -= 1
        if let room = event.roomID, let count = inFlightByRoom[room] {
            inFlightByRoom[room] = count == 1 ? nil : count - 1
        }
    }

    // MARK: Waiting events

    var isWaiting: Bool { !waiting.isEmpty }

    /// - Returns: false if there is no room: the client sends without waiting for answers.
    func wait(with event: ClientEvent) -> Bool { waiting.append(event) }

    /// Begins the next waiting event, if it may start now.
    func beginNext() -> ClientEvent? {
        guard let next = waiting.first, begin(next) else { return nil }
        return waiting.popFirst()
    }

    /// Drops an event that found no room, and all that wait.
    func drop(_ event: ClientEvent) {
        socket.noteHeld(change: -event.size)
        dropWaiting()
    }

    /// Drops the waiting events, because the client is disconnected.
    func dropWaiting() {
        socket.noteHeld(change: -waiting.bytes)
        waiting = WaitingEvents()
    }

    /// Disconnects, because the session has ended. Events that wait are dropped, and those that are held are refused.
    func endSession() {
        dropWaiting()
        isEnded = true
        socket.disconnect()
    }
}
