import JSON
import Reactor
import TestClients
import TestSupport

/// A person's client: it keeps a socket, has its rooms open, and writes down what it is acknowledged and what it hears.
///
/// It is connected in `SimulatedClient+Connecting`, and does things in `SimulatedClient+Doing`.
actor SimulatedClient {
    nonisolated let person: Person
    nonisolated let loop: EventLoop
    let cluster: Cluster
    /// The rooms that it has open, all of them new.
    let rooms: [String]
    /// Whom it makes rooms with.
    let friend: Person
    var log = ClientLog()

    var client: SocketIOClient?
    /// When it last ended its socket by itself, with requests under way.
    private(set) var hungUpAt = LoopInstant(nanoseconds: 0)
    /// It has all its rooms open.
    var isSettled = false
    var cursor: String?
    /// What was heard when the cursor was given.
    var receivedAtCursor = ClientLog.ReceivedEvent()
    /// What was heard before it is told again from the cursor on, until that is done.
    var receivedBefore: ClientLog.ReceivedEvent?
    var isClosing = false
    /// Told when the socket has ended.
    var ended: CheckedContinuation<Void, Never>?

    /// What there is to read, to change and to delete.
    var unread: [String: [String]] = [:]
    var ownMessages: [String: [String]] = [:]
    var board: [String: [String]] = [:]
    private var lanes: [Task<Void, Never>] = []
    private var connecting: Task<Void, Never>?
    /// No new work is begun.
    private(set) var isOver = false
    private var busyLanes = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ person: Person, rooms: [String], friend: Person, cluster: Cluster, on loop: EventLoop) {
        self.person = person
        self.rooms = rooms
        self.friend = friend
        self.cluster = cluster
        self.loop = loop
    }

    func connect() { connecting = Task { await stayConnected() } }

    /// - Parameter pause: at most between two things that a lane does.
    func work(lanes count: Int, pause: Duration, seed: UInt64) {
        busyLanes = count
        for lane in 0..<count {
            lanes.append(
                Task {
                    var random = SeededGenerator(seed: seed &+ UInt64(lane))
                    var number = 0
                    while !isOver {
                        number += 1
                        await doSomething("\(lane)-\(number)", using: &random)
                        await loop.pause(.milliseconds(Int.random(in: 0...pause.milliseconds, using: &random)))
                    }
                    busyLanes -= 1
                })
        }
    }

    var isBusy: Bool { !isSettled || busyLanes > 0 }

    /// What is under way is finished, and nothing new begun.
    func finish() { isOver = true }

    func close() {
        isClosing = true
        client?.drop()
    }

    /// Sends a last message to each of its rooms.
    func sendToAllRooms(_ text: String) async { for roomID in rooms { await send(text, to: roomID) } }

    func hangUp() {
        guard let client else { return }
        hungUpAt = .now()
        client.drop()
    }

    // MARK: Hearing

    func receive(_ name: ArraySlice<UInt8>, _ data: JSONValue) {
        switch String(decoding: name, as: UTF8.self) {
        case "message:new":
            guard let message = data["message"]?.object, let roomID = message["roomId"]?.string else { return }
            log.received.chats[roomID, default: DeliveryLog()].receive(EventKey(name, data))
            if let id = message["id"]?.string, message["senderId"]?.string != person.id {
                unread[roomID, default: []].append(id)
            }
        case "message:deleted", "messages:read":
            guard let roomID = data["roomId"]?.string else { return }
            log.received.chats[roomID, default: DeliveryLog()].receive(EventKey(name, data))
        case "element:created", "element:updated":
            guard let element = data["element"]?.object, let roomID = element["roomId"]?.string else { return }
            log.received.boards[roomID, default: DeliveryLog()].receive(EventKey(name, data))
            if name.count == "element:created".utf8.count, let id = element["id"]?.string, element["version"]?.int == 1
            {
                board[roomID, default: []].append(id)
            }
        case "element:deleted":
            guard let roomID = data["roomId"]?.string else { return }
            log.received.boards[roomID, default: DeliveryLog()].receive(EventKey(name, data))
            board[roomID]?.removeAll { $0 == data["elementId"]?.string }
        case "room:cleared":
            guard let roomID = data["roomId"]?.string else { return }
            log.received.boards[roomID, default: DeliveryLog()].receive(EventKey(name, data))
            board[roomID] = []
        case "room:created":
            if let id = data["room"]?["id"]?.string { log.received.newRooms.append(id) }
        case "sync:done": synchronised(data)
        default: break
        }
    }

    private func synchronised(_ data: JSONValue) {
        if data["recovered"]?.bool != true {
            // It keeps what it has heard, and loads the rest anew.
            if let receivedBefore { log.received = receivedBefore }
            log.noteGaps(in: rooms)
        }
        receivedBefore = nil
        cursor = data["cursor"]?.string
        receivedAtCursor = log.received
    }
}
