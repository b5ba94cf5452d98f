import ParlorJSON
import ParlorReactor
import ParlorTestSupport
import TestClients

/// A person's client: keeps a socket, has its rooms open, and records acknowledgements and events.
///
/// `SimulatedClient+Connecting` connects it, and `SimulatedClient+Doing` has its actions.
actor SimulatedClient {
    nonisolated let person: Person
    nonisolated let loop: EventLoop
    let cluster: Cluster
    private let removals: Removals
    /// The rooms that it has open, all created for the drill.
    let rooms: [String]
    /// The person with whom it creates rooms.
    let friend: Person
    var log = ClientLog()

    var client: SocketIOClient?
    /// The last time at which it closed its socket by itself, with requests in progress.
    private(set) var hungUpAt = LoopInstant(nanoseconds: 0)
    /// Whether the rooms that it had when it connected are joined.
    var hasOpenedRooms = false
    /// Rises with each change of the client's groups.
    var changesOfGroups = 0
    /// True if events of groups that it has come to may be missing.
    var mustLoadGroups = false
    /// The groups that are being joined or loaded.
    var joins = 0
    var cursor: String?
    /// The events that it had received when the cursor was issued.
    var receivedAtCursor = ClientLog.ReceivedEvent()
    /// The events received before the replay from the cursor, until the replay is done.
    var receivedBefore: ClientLog.ReceivedEvent?
    var isClosing = false
    /// Resumed when the socket has ended.
    var ended: CheckedContinuation<Void, Never>?

    /// The messages to read and the items to change and delete.
    var unread: [String: [String]] = [:]
    var ownMessages: [String: [String]] = [:]
    var board: [String: [String]] = [:]
    private var lanes: [Task<Void, Never>] = []
    private var connecting: Task<Void, Never>?
    /// Whether no new work is begun.
    private(set) var isOver = false
    private var busyLanes = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(
        _ person: Person, rooms: [String], friend: Person, removals: Removals, cluster: Cluster, on loop: EventLoop
    ) {
        self.person = person
        self.rooms = rooms
        self.friend = friend
        self.removals = removals
        self.cluster = cluster
        self.loop = loop
    }

    func connect() { connecting = Task { await stayConnected() } }

    /// - Parameter pause: the longest pause between two actions of a lane.
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

    /// Whether all its rooms are joined.
    var isSettled: Bool { hasOpenedRooms && joins == 0 && !mustLoadGroups }

    var isBusy: Bool { !isSettled || busyLanes > 0 }

    /// Finishes the work in progress, and begins nothing new.
    func finish() { isOver = true }

    func close() {
        isClosing = true
        client?.drop()
    }

    /// Sends a last message to each of its rooms.
    func sendToAllRooms(_ text: String) async {
        for roomID in rooms + log.groups { await send(text, to: roomID) }
    }

    func hangUp() {
        guard let client else { return }
        hungUpAt = .now()
        client.drop()
    }

    // MARK: Receiving

    func receive(_ name: ArraySlice<UInt8>, _ data: JSONValue) {
        let event = String(decoding: name, as: UTF8.self)
        if event != "room:removed", !event.hasSuffix(":global"), let roomID = Self.roomID(of: data) {
            removals.check(event, of: roomID, to: person.id, isReplayed: receivedBefore != nil)
        }
        switch event {
        case "message:new":
            guard let message = data["message"]?.object, let roomID = message["roomId"]?.string else { return }
            log.received.chats[roomID, default: newLog(of: roomID)].receive(
                EventKey(name, data), message: message["id"]?.string)
            if let id = message["id"]?.string, message["senderId"]?.string != person.id {
                unread[roomID, default: []].append(id)
            }
        case "message:deleted", "messages:read":
            guard let roomID = data["roomId"]?.string else { return }
            log.received.chats[roomID, default: newLog(of: roomID)].receive(EventKey(name, data))
        case "element:created", "element:updated":
            guard let element = data["element"]?.object, let roomID = element["roomId"]?.string else { return }
            log.received.boards[roomID, default: newLog(of: roomID)].receive(EventKey(name, data))
            if name.count == "element:created".utf8.count, let id = element["id"]?.string, element["version"]?.int == 1
            {
                board[roomID, default: []].append(id)
            }
        case "element:deleted":
            guard let roomID = data["roomId"]?.string else { return }
            log.received.boards[roomID, default: newLog(of: roomID)].receive(EventKey(name, data))
            board[roomID]?.removeAll { $0 == data["elementId"]?.string }
        case "room:cleared":
            guard let roomID = data["roomId"]?.string else { return }
            log.received.boards[roomID, default: newLog(of: roomID)].receive(EventKey(name, data))
            board[roomID] = []
        case "participant:joined", "participant:left", "participant:updated":
            guard let roomID = data["roomId"]?.string else { return }
            log.received.people[roomID, default: newLog(of: roomID)].receive(EventKey(name, data))
        case "room:created":
            guard let id = data["room"]?["id"]?.string else { return }
            if data["room"]?["kind"]?.string == "group" { enter(id) } else { log.received.newRooms.append(id) }
        case "room:removed":
            if let id = data["roomId"]?.string { leave(id) }
        case "sync:done": synchronised(data)
        default: break
        }
    }

    /// A client comes to a group when events have been written already, and receives those that follow.
    private func newLog(of roomID: String) -> DeliveryLog {
        var log = DeliveryLog()
        if !rooms.contains(roomID) { log.noteGap() }
        return log
    }

    private static func roomID(of data: JSONValue) -> String? {
        (data["roomId"] ?? data["message"]?["roomId"] ?? data["element"]?["roomId"] ?? data["room"]?["id"])?.string
    }

    private func synchronised(_ data: JSONValue) {
        if data["recovered"]?.bool != true {
            // Nothing was replayed: the events received before stay, and a gap follows.
            if let receivedBefore { log.received = receivedBefore }
            log.reloads += 1
            for roomID in log.groups.union(log.received.chats.keys).union(rooms) { log.noteGap(in: roomID) }
            mustLoadGroups = true
            loadGroups()
        }
        receivedBefore = nil
        cursor = data["cursor"]?.string
        receivedAtCursor = log.received
    }
}
