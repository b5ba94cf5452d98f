import RoomsClient

extension Parlor {
    /// Does what a socket asks for, and returns what the ack adds.
    mutating func perform(_ event: String, _ fields: JSON, by userID: String, on socketID: Int) throws(Refused) -> JSON
    {
        try checkRefusals(for: event)
        let roomID = fields["roomId"]?.string
        switch event {
        case "room:join":
            let room = try room(roomID, of: userID)
            join(room.id, keepsOthers: fields["keepOthers"]?.bool ?? false, userID, on: socketID)
            return .object(["room": json(try self.room(roomID, of: userID), for: userID)])
        case "room:leave":
            leave(try room(roomID, of: userID).id, userID, on: socketID)
            return .object([:])
        case "message:typing":
            let room = try room(roomID, of: userID)
            guard let isTyping = fields["isTyping"]?.bool else { throw .invalid("isTyping", "is missing") }
            setTyping(isTyping, of: userID, in: room.id, on: socketID)
            return .object([:])
        default:
            return try change(event, fields, in: roomID, by: userID)
        }
    }

    /// What sockets and people without one can do alike.
    mutating func change(_ event: String, _ fields: JSON, in roomID: String?, by userID: String) throws(Refused) -> JSON
    {
        switch event {
        case "message:send":
            let answer = try send(fields, in: roomID, by: userID)
            var members: [String: JSON] = ["message": answer.data]
            for (name, member) in ["messageId": "id", "seq": "seq", "createdAt": "createdAt"] {
                members[name] = answer.data[member]
            }
            if answer.isDuplicate { members["duplicate"] = .bool(true) }
            return .object(members)
        case "message:delete":
            _ = try deleteMessage(fields["messageId"]?.string, in: roomID, by: userID)
            return .object([:])
        case "messages:mark-read":
            return try markRead(fields, in: roomID, by: userID).data
        case "element:create":
            let answer = try makeElement(fields, in: roomID, by: userID)
            let members: [String: JSON] = ["element": answer.data]
            return .object(answer.isDuplicate ? members.merging(["duplicate": .bool(true)]) { $1 } : members)
        case "element:update":
            let id = fields["elementId"]?.string
            return .object(["element": try updateElement(id, fields, in: roomID, by: userID).data])
        case "element:delete":
            _ = try deleteElement(fields["elementId"]?.string, in: roomID, by: userID)
            return .object([:])
        case "room:clear":
            return try clear(roomID, by: userID).data
        default:
            throw .malformed("There is no event \(event).")
        }
    }
}
