import Foundation
import ParlorClient

/// The sockets, with the rooms that they have joined, and the event log. Each socket speaks Engine.IO 4 and Socket.IO 5
/// over one WebSocket. Times are in milliseconds.
struct Gateway: Sendable {
    /// A packet for a socket.
    struct Delivery: Sendable {
        enum Kind: Sendable, Equatable {
            case control, ack
            case event(String)
        }

        var socketID: Int
        var kind: Kind
        var text: String
    }

    struct Socket: Sendable {
        /// The person; nil until CONNECT.
        var userID: String?
        var joined: Set<String> = []
        /// Those of them that it joined without their boards.
        var unseen: Set<String> = []
        /// The time at which typing ends, by room.
        var typing: [String: Int] = [:]
        /// The log position at which the socket went live; nil if it connected without `since`.
        var continuesFrom: Int?
        /// The log positions at which the socket has left rooms since it went live, by room.
        var continuedRooms: [String: Int] = [:]
    }

    let broadcastsToEveryone: Bool
    let pingInterval: Int
    let pingTimeout: Int
    var log = EventLog()
    private(set) var sockets: [Int: Socket] = [:]
    private(set) var deliveries: [Delivery] = []
    /// The sockets that the server has closed.
    private(set) var closed: [Int] = []

    /// The sockets that have joined the namespace, oldest first.
    var liveSockets: [(id: Int, socket: Socket)] {
        sockets.filter { $0.value.userID != nil }.sorted { $0.key < $1.key }.map { (id: $0.key, socket: $0.value) }
    }

    mutating func takeDeliveries() -> (deliveries: [Delivery], closed: [Int]) {
        defer { (deliveries, closed) = ([], []) }
        return (deliveries, closed)
    }

    // MARK: Sockets

    mutating func open(_ socketID: Int) {
        sockets[socketID] = Socket()
        let handshake: JSON = [
            "sid": .string("engine-\(socketID)"), "upgrades": .array([]), "maxPayload": .integer(1 << 20),
            "pingInterval": .integer(pingInterval), "pingTimeout": .integer(pingTimeout),
        ]
        control("0" + handshake.text, to: socketID)
    }

    /// Closes a socket. Its rooms get the end of its person's typing and presence.
    mutating func close(_ socketID: Int) {
        guard let socket = sockets[socketID] else { return }
        for roomID in socket.typing.keys.sorted() { setTyping(until: nil, in: roomID, on: socketID) }
        for roomID in socket.joined.sorted() { leave(roomID, on: socketID) }
        sockets[socketID] = nil
    }

    /// Sends a person's sockets a DISCONNECT. The client closes the connection.
    mutating func dismissSockets(of userID: String) {
        for (id, socket) in liveSockets where socket.userID == userID {
            control("41", to: id)
            close(id)
        }
    }

    /// Handles a packet, or returns the request in it.
    mutating func receive(
        _ text: String, on socketID: Int, _ sessions: Sessions, _ rooms: Rooms, at now: Int
    ) -> (request: SocketRequest, userID: String)? {
        guard let socket = sockets[socketID] else { return nil }
        switch text {
        case "2": control("3", to: socketID)
        case "41", "1": closed.append(socketID)
        case _ where text.hasPrefix("40"):
            let fields = JSON(parsing: Data(SocketRequest.payload(of: text).utf8)) ?? [:]
            let token = sessions.token(fields["token"]?.string, at: now)
            connect(token?.userID, since: fields.member("since"), rooms, on: socketID)
        default: return SocketRequest(text).flatMap { request in socket.userID.map { (request, $0) } }
        }
        return nil
    }

    /// Joins a socket to the namespace, and sends it what its person has missed. It is refused if nobody has its token.
    private mutating func connect(_ userID: String?, since: JSON?, _ rooms: Rooms, on socketID: Int) {
        guard let userID else {
            let refusal: JSON = ["message": .string("unauthorized"), "data": ["code": .string("unauthenticated")]]
            return control("44" + refusal.text, to: socketID)
        }
        control("40" + JSON.object(["sid": .string("socket-\(socketID)")]).text, to: socketID)
        sockets[socketID]?.userID = userID
        guard let since else { return }
        let cursor = log.cursor(since.string, of: userID).flatMap { $0.isCurrent ? $0 : nil }
        let missed = cursor.map { log.missed(by: userID, in: rooms.ids(of: userID), since: $0.position) } ?? []
        for (_, entry) in missed { deliver(entry.event, entry.data, to: socketID) }
        sockets[socketID]?.continuesFrom = log.head
        let done: JSON = ["recovered": .bool(cursor != nil), "cursor": .string(log.cursor(for: userID))]
        deliver("sync:done", done, to: socketID)
    }

    /// Sends a request's ack. A failure without an ack is sent as `request:error`.
    mutating func answer(_ request: SocketRequest, with result: Result<JSON, Refused>, on socketID: Int) {
        let ack: JSON
        switch result {
        case .success(let members): ack = JSON.object(members.object ?? [:]).adding(["success": .bool(true)])
        case .failure(let refused):
            let failure: JSON = ["code": .string(refused.code), "message": .string(refused.message)]
            guard request.ackID != nil else {
                return deliver("request:error", ["event": .string(request.event), "error": failure], to: socketID)
            }
            ack = ["success": .bool(false), "error": failure.adding(["retryable": .bool(refused.isRetryable)])]
        }
        guard let ackID = request.ackID else { return }
        deliveries.append(Delivery(socketID: socketID, kind: .ack, text: "43\(ackID)" + JSON.array([ack]).text))
    }

    mutating func control(_ text: String, to socketID: Int) {
        deliveries.append(Delivery(socketID: socketID, kind: .control, text: text))
    }

    private mutating func deliver(_ event: String, _ data: JSON, to socketID: Int) {
        let text = "42" + JSON.array([.string(event), data]).text
        // No fault may move the end of a replay, so `sync:done` counts as a control packet.
        let kind = event == "sync:done" ? Delivery.Kind.control : .event(event)
        deliveries.append(Delivery(socketID: socketID, kind: kind, text: text))
    }

    // MARK: Events

    /// Sends an event to its audience, and logs it for replays unless it is for everyone.
    mutating func emit(_ entry: EventLog.Entry) {
        if entry.audience != .everyone { log.append(entry) }
        for (id, socket) in liveSockets {
            let isMeant =
                switch entry.audience {
                case .room: socket.joined.contains(entry.roomID) && entry.concerns(socket.userID ?? "")
                case .person(let userID): socket.userID == userID
                case .everyone: broadcastsToEveryone || entry.participants.contains { $0 == socket.userID }
                }
            if isMeant { deliver(entry.event, entry.data, to: id) }
        }
    }

    /// Sends a room an event that is never replayed.
    private mutating func emitVolatile(
        _ event: String, _ data: JSON, in roomID: String, exceptFor userID: String? = nil
    ) {
        let data = data.adding(["roomId": .string(roomID)])
        for (id, socket) in liveSockets where socket.joined.contains(roomID) && socket.userID != userID {
            deliver(event, data, to: id)
        }
    }

    // MARK: Presence and typing

    /// Returns the people who have a room open.
    func people(in roomID: String) -> Set<String> {
        Set(sockets.values.filter { $0.joined.contains(roomID) }.compactMap(\.userID))
    }

    /// Returns the people who have a room open with its board.
    func viewers(of roomID: String) -> Set<String> {
        let viewing = sockets.values.filter { $0.joined.contains(roomID) && !$0.unseen.contains(roomID) }
        return Set(viewing.compactMap(\.userID))
    }

    /// Joins a room, and sends the socket what it has missed there.
    ///
    /// - Parameters:
    ///   - keepsOthers: false to leave the socket's other rooms.
    ///   - keepsUnseen: true to join it without its board.
    mutating func join(_ roomID: String, keepsOthers: Bool, keepsUnseen: Bool, on socketID: Int) {
        guard let socket = sockets[socketID], let userID = socket.userID else { return }
        if !socket.joined.contains(roomID), let position = socket.continuedRooms[roomID] ?? socket.continuesFrom {
            for entry in log.missed(by: userID, in: roomID, since: position) {
                deliver(entry.event, entry.data, to: socketID)
            }
        }
        if keepsUnseen { sockets[socketID]?.unseen.insert(roomID) } else { sockets[socketID]?.unseen.remove(roomID) }
        change(of: userID, in: roomID) { $0[socketID]?.joined.insert(roomID) }
        guard !keepsOthers else { return }
        for other in socket.joined.sorted() where other != roomID { leave(other, on: socketID) }
    }

    mutating func leave(_ roomID: String, on socketID: Int) {
        guard let socket = sockets[socketID], let userID = socket.userID, socket.joined.contains(roomID) else { return }
        if socket.continuesFrom != nil { sockets[socketID]?.continuedRooms[roomID] = log.head }
        change(of: userID, in: roomID) {
            $0[socketID]?.typing[roomID] = nil
            $0[socketID]?.joined.remove(roomID)
        }
    }

    /// Takes a person's sockets out of a room, without an event.
    mutating func remove(_ userID: String, from roomID: String) {
        for (id, socket) in liveSockets where socket.userID == userID { sockets[id]?.joined.remove(roomID) }
    }

    /// Takes a person's sockets out of a room. The others get the end of the person's typing and presence.
    mutating func end(_ userID: String, in roomID: String) {
        for (id, socket) in liveSockets where socket.userID == userID {
            setTyping(until: nil, in: roomID, on: id)
            leave(roomID, on: id)
        }
    }

    /// Starts or renews typing that ends at a time; nil ends it.
    mutating func setTyping(until end: Int?, in roomID: String, on socketID: Int) {
        guard let userID = sockets[socketID]?.userID else { return }
        change(of: userID, in: roomID) { $0[socketID]?.typing[roomID] = end }
    }

    mutating func endTyping(of userID: String, in roomID: String) {
        change(of: userID, in: roomID) { sockets in
            for id in sockets.keys where sockets[id]?.userID == userID { sockets[id]?.typing[roomID] = nil }
        }
    }

    /// Ends typing that was to end by now.
    mutating func endStaleTyping(at now: Int) {
        for (id, socket) in liveSockets {
            for roomID in socket.typing.filter({ $0.value <= now }).keys.sorted() {
                setTyping(until: nil, in: roomID, on: id)
            }
        }
    }

    /// Changes a person's sockets, and tells a room if the person's typing or presence there thereby changes.
    private mutating func change(of userID: String, in roomID: String, _ body: (inout [Int: Socket]) -> Void) {
        let (wasTyping, wasPresent) = (isTyping(userID, in: roomID), people(in: roomID).contains(userID))
        body(&sockets)
        let (isTyping, isPresent) = (isTyping(userID, in: roomID), people(in: roomID).contains(userID))
        if isTyping != wasTyping {
            let data: JSON = ["userId": .string(userID), "isTyping": .bool(isTyping)]
            emitVolatile("message:typing", data, in: roomID, exceptFor: userID)
        }
        if isPresent != wasPresent {
            emitVolatile("room:presence", ["userId": .string(userID), "isPresent": .bool(isPresent)], in: roomID)
        }
    }

    private func isTyping(_ userID: String, in roomID: String) -> Bool {
        sockets.values.contains { $0.userID == userID && $0.typing[roomID] != nil }
    }
}
