import Foundation
import ParlorClient

extension Parlor {
    mutating func send(_ fields: JSON, in roomID: String?, by userID: String) throws(Refused) -> Answer {
        var room = try room(roomID, of: userID)
        let name = fields.member("text") == nil && fields.member("content") != nil ? "content" : "text"
        let text = try fields.required(name).trimmingCharacters(in: .whitespacesAndNewlines)
        guard (1...4000).contains(text.unicodeScalars.count) else {
            throw .invalid(name, "must have 1 to 4000 characters")
        }
        let tempID = try fields.tempID()
        let key = tempID.map { RoomState.TempID(userID: userID, text: $0) }
        if let key, let id = room.messagesByTempID[key] {
            guard let message = room.messages.first(where: { $0.id == id }) else { throw .notFound("message") }
            return Answer(200, json(message, in: room), isDuplicate: true)
        }
        let time = stamp()
        room.lastSeq += 1
        let message = RoomState.StoredMessage(
            id: makeID(at: time), seq: room.lastSeq, senderID: userID, text: text, createdAt: time, tempID: tempID)
        room.messages.append(message)
        room.messagesUpdatedAt = time
        if let key { room.messagesByTempID[key] = message.id }
        rooms[room.id] = room
        endTyping(of: userID, in: room.id)
        let payload = json(message, in: room)
        emit("message:new", .object(["message": payload]), to: .room, in: room.id, namesRoom: false)
        let global: [String: JSON] = [
            "messageId": .string(message.id), "senderId": .string(userID),
            "messagesUpdatedAt": .string(WireTime.seconds(time)),
        ]
        emit("message:new:global", .object(global), to: .everyone, in: room.id)
        return Answer(201, payload)
    }

    mutating func deleteMessage(_ id: String?, in roomID: String?, by userID: String) throws(Refused) -> Answer {
        var room = try room(roomID, of: userID)
        guard let id, let index = room.messages.firstIndex(where: { $0.id == id }) else { throw .notFound("message") }
        let message = room.messages[index]
        guard message.senderID == userID else { throw .forbidden("Only the sender of a message can delete it.") }
        room.messages.remove(at: index)
        let time = stamp()
        room.messagesUpdatedAt = time
        rooms[room.id] = room
        forgetText(of: id, in: room.id)
        let payload: [String: JSON] = ["messageId": .string(id), "deletedBy": .string(userID)]
        emit("message:deleted", .object(payload), to: .room, in: room.id)
        let global = payload.merging(["messagesUpdatedAt": .string(WireTime.seconds(time))]) { $1 }
        emit("message:deleted:global", .object(global), to: .everyone, in: room.id)
        for person in room.others(than: userID) where !message.reads.contains(where: { $0.userID == person }) {
            emitBadges(of: person, in: room)
        }
        return Answer(204)
    }

    mutating func markRead(_ fields: JSON, in roomID: String?, by userID: String) throws(Refused) -> Answer {
        var room = try room(roomID, of: userID)
        let ids = Set(try fields.strings("messageIds"))
        let time = stamp()
        var read: [String] = []
        for index in room.messages.indices {
            let message = room.messages[index]
            guard ids.contains(message.id), message.senderID != userID,
                !message.reads.contains(where: { $0.userID == userID })
            else { continue }
            room.messages[index].reads.append(.init(userID: userID, readAt: time))
            read.append(message.id)
        }
        let answer = Answer(200, .object(["readCount": .integer(read.count)]))
        guard !read.isEmpty else { return answer }
        rooms[room.id] = room
        let payload: [String: JSON] = [
            "userId": .string(userID), "messageIds": .array(read.map(JSON.string)),
            "readAt": .string(WireTime.milliseconds(time)),
        ]
        emit("messages:read", .object(payload), to: .room, in: room.id)
        emitBadges(of: userID, in: room)
        return answer
    }

    func messages(in roomID: String?, _ query: [String: String], by userID: String) throws(Refused) -> Answer {
        let room = try room(roomID, of: userID)
        let (before, after) = (try Self.integer("before", query), try Self.integer("after", query))
        let limit = try Self.limit(query, standard: 50, max: 200)
        let found = room.messages.filter { $0.seq < before ?? .max && $0.seq > after ?? .min }
        let shown = Array(after == nil ? found.suffix(limit) : found.prefix(limit))
        let edge = after == nil ? shown.first : shown.last
        let next = found.count > limit ? edge.map { String($0.seq) } : nil
        return Answer(200, .array(shown.map { json($0, in: room) }), next: .some(next))
    }

    func conversation(with otherID: String, _ query: [String: String], by userID: String) throws(Refused) -> Answer {
        guard accounts[otherID] != nil else { throw .notFound("user") }
        let limit = try Self.limit(query, standard: 50, max: 200)
        let before = try Self.integer("before", query) ?? .max
        let found = rooms.values.filter { $0.isParticipant(userID) && $0.isParticipant(otherID) }
            .flatMap { room in room.messages.map { (room: room, message: $0) } }
            .filter { $0.message.createdAt < before }
            .sorted { ($0.message.createdAt, $0.message.seq) < ($1.message.createdAt, $1.message.seq) }
        let shown = found.suffix(limit)
        // Each message has a different time here, so a time is enough as a cursor.
        let next = found.count > limit ? shown.first.map { String($0.message.createdAt) } : nil
        return Answer(200, .array(shown.map { json($0.message, in: $0.room) }), next: .some(next))
    }

    func json(_ message: RoomState.StoredMessage, in room: RoomState) -> JSON {
        let others = room.others(than: message.senderID)
        let sender = accounts[message.senderID].map { Self.json($0.person, showsEmail: false) }
        let reads = message.reads.map { read in
            JSON.object([
                "userId": .string(read.userID), "readAt": .string(WireTime.milliseconds(read.readAt)),
            ])
        }
        return .object([
            "id": .string(message.id), "roomId": .string(room.id), "seq": .integer(message.seq),
            "senderId": .string(message.senderID), "sender": sender ?? .null,
            "receiverId": .optional(others.count == 1 ? others[0] : nil), "text": .string(message.text),
            "content": .string(message.text), "createdAt": .string(WireTime.milliseconds(message.createdAt)),
            "readStatus": .bool(!others.isEmpty && message.reads.count >= others.count), "readBy": .array(reads),
            "tempId": .optional(message.tempID),
        ])
    }

    mutating func emitBadges(of userID: String, in room: RoomState) {
        emit("room:badges", .object(badges(of: userID, in: room)), to: .person(userID), in: room.id)
    }
}
