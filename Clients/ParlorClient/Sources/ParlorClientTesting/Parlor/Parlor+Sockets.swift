import Foundation
import ParlorClient

// Engine.IO 4 and Socket.IO 5 over one WebSocket.
extension Parlor {
    struct Socket: Sendable {
        /// The person; nil until CONNECT.
        var userID: String?
        var token: String?
        var joined: Set<String> = []
        /// The time at which typing ends, by room.
        var typing: [String: Int] = [:]
        /// The log position at which the socket went live; nil if it connected without `since`.
        var continuesFrom: Int?
        /// The log positions at which the socket has left rooms since it went live, by room.
        var continuedRooms: [String: Int] = [:]
    }

    mutating func open(_ socketID: Int) {
        sockets[socketID] = Socket()
        let handshake: [String: JSON] = [
            "sid": .string("engine-\(socketID)"), "upgrades": .array([]), "maxPayload": .integer(1 << 20),
            "pingInterval": .integer(settings.pingInterval), "pingTimeout": .integer(settings.pingTimeout),
        ]
        control("0" + JSON.object(handshake).text, to: socketID)
    }

    /// Closes a socket. Its rooms get the end of its person's typing and presence.
    mutating func close(_ socketID: Int) {
        guard let socket = sockets[socketID] else { return }
        if let userID = socket.userID {
            for roomID in socket.typing.keys.sorted() { setTyping(false, of: userID, in: roomID, on: socketID) }
            for roomID in socket.joined.sorted() { leave(roomID, userID, on: socketID) }
        }
        sockets[socketID] = nil
    }

    /// Sends a person's sockets a DISCONNECT. The client closes the connection.
    mutating func dismissSockets(of userID: String) {
        for (id, socket) in liveSockets where socket.userID == userID {
            control("41", to: id)
            close(id)
        }
    }

    mutating func receive(_ text: String, on socketID: Int) {
        guard sockets[socketID] != nil else { return }
        if text == "2" { return control("3", to: socketID) }
        if text.hasPrefix("40") { return connect(Self.payload(of: text.dropFirst(2)), on: socketID) }
        if text == "41" || text == "1" { return closed.append(socketID) }
        guard let request = Self.request(in: text), let userID = sockets[socketID]?.userID else { return }
        let (event, ackID) = (request.event, request.ackID)
        let result: JSON
        do {
            let members = try perform(event, request.fields, by: userID, on: socketID)
            result = JSON.object(members.object ?? [:]).adding(["success": .bool(true)])
        } catch {
            let failure: [String: JSON] = ["code": .string(error.code), "message": .string(error.message)]
            guard ackID != nil else {
                return deliver(
                    "request:error", .object(["event": .string(event), "error": .object(failure)]), to: socketID)
            }
            let details = failure.merging(["retryable": .bool(error.isRetryable)]) { $1 }
            result = .object(["success": .bool(false), "error": .object(details)])
        }
        guard let ackID else { return }
        deliveries.append(Delivery(socketID: socketID, kind: .ack, text: "43\(ackID)" + JSON.array([result]).text))
    }

    struct Request {
        var event: String
        var fields: JSON
        var ackID: Int?
    }

    /// Parses an event packet; nil if it is not an event.
    static func request(in text: String) -> Request? {
        guard text.hasPrefix("42") else { return nil }
        let packet = payload(of: text.dropFirst(2))
        guard case .array(let parts)? = JSON(parsing: Data(packet.drop { $0.isNumber }.utf8)),
            let event = parts.first?.string
        else { return nil }
        let fields = parts.count > 1 ? parts[1] : .object([:])
        return Request(event: event, fields: fields, ackID: Int(packet.prefix { $0.isNumber }))
    }

    mutating func join(_ roomID: String, keepsOthers: Bool, _ userID: String, on socketID: Int) {
        let wasPresent = isPresent(userID, in: roomID)
        if let socket = sockets[socketID], !socket.joined.contains(roomID),
            let position = socket.continuedRooms[roomID] ?? socket.continuesFrom
        {
            for entry in missed(in: roomID, since: position) { deliver(entry.event, entry.data, to: socketID) }
        }
        sockets[socketID]?.joined.insert(roomID)
        emitPresence(of: userID, in: roomID, was: wasPresent)
        if !keepsOthers {
            let others = sockets[socketID]?.joined.filter { $0 != roomID } ?? []
            for other in others.sorted() { leave(other, userID, on: socketID) }
        }
        guard let room = rooms[roomID], room.unseen[userID] ?? 0 > 0 else { return }
        rooms[roomID]?.unseen[userID] = nil
        if let room = rooms[roomID] { emitBadges(of: userID, in: room) }
    }

    mutating func leave(_ roomID: String, _ userID: String, on socketID: Int) {
        guard sockets[socketID]?.joined.contains(roomID) == true else { return }
        setTyping(false, of: userID, in: roomID, on: socketID)
        sockets[socketID]?.joined.remove(roomID)
        if sockets[socketID]?.continuesFrom != nil { sockets[socketID]?.continuedRooms[roomID] = log.count }
        emitPresence(of: userID, in: roomID, was: true)
    }

    private mutating func connect(_ payload: Substring, on socketID: Int) {
        let fields = JSON(parsing: Data(payload.utf8)) ?? .object([:])
        let token = fields["token"]?.string
        guard let userID = userID(of: token) else {
            let refusal: [String: JSON] = [
                "message": .string("unauthorized"), "data": .object(["code": .string("unauthenticated")]),
            ]
            return control("44" + JSON.object(refusal).text, to: socketID)
        }
        control("40" + JSON.object(["sid": .string("socket-\(socketID)")]).text, to: socketID)
        sockets[socketID]?.userID = userID
        sockets[socketID]?.token = token
        guard let since = fields.member("since") else { return }
        var isRecovered = false
        if let cursor = cursor(since.string, of: userID), cursor.generation == generation {
            for (_, entry) in missed(by: userID, since: cursor.position) {
                deliver(entry.event, entry.data, to: socketID)
            }
            isRecovered = true
        }
        sockets[socketID]?.continuesFrom = log.count
        let done: [String: JSON] = ["recovered": .bool(isRecovered), "cursor": .string(cursor(for: userID))]
        deliver("sync:done", .object(done), to: socketID)
    }

    private mutating func control(_ text: String, to socketID: Int) {
        deliveries.append(Delivery(socketID: socketID, kind: .control, text: text))
    }

    /// Returns a packet's payload without the default namespace, which a client may write out.
    private static func payload(of packet: Substring) -> Substring {
        packet.hasPrefix("/,") ? packet.dropFirst(2) : packet
    }
}
