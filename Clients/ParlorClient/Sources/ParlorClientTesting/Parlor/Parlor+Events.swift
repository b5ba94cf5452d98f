import ParlorClient

extension Parlor {
    private static let events: Set<String> = [
        "element:create", "element:delete", "element:update", "message:delete", "message:send", "message:typing",
        "messages:mark-read", "room:clear", "room:join", "room:leave",
    ]

    /// Handles a socket's event, and returns the ack's members.
    mutating func perform(_ event: String, _ fields: JSON, by userID: String, on socketID: Int) throws(Refused) -> JSON
    {
        try checkRefusals(for: event)
        if let handler = plugins.events[event] { return try run(handler, fields, by: userID).data }
        guard Self.events.contains(event) else { throw .malformed("There is no event \(event).") }
        let roomID = try fields.required("roomId")
        switch event {
        case "room:join":
            let room = try room(roomID, of: userID)
            join(room.id, keepsOthers: fields["keepOthers"]?.bool ?? false, userID, on: socketID)
            return .object(["room": json(try self.room(roomID, of: userID), for: userID)])
        case "room:leave":
            leave(try room(roomID, of: userID).id, userID, on: socketID)
            return .object([:])
        case "message:typing":
            guard let value = fields.member("isTyping") else { throw .invalid("isTyping", "is missing") }
            guard let isTyping = value.bool else { throw .malformed("isTyping is not a boolean.") }
            let room = try room(roomID, of: userID)
            setTyping(isTyping, of: userID, in: room.id, on: socketID)
            return .object([:])
        default:
            return try change(event, fields, in: roomID, by: userID)
        }
    }

    /// Makes a change that clients can request both over a socket and over HTTP. Returns the ack's members.
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
            let room = try room(roomID, of: userID)
            _ = try deleteMessage(try fields.required("messageId"), in: room.id, by: userID)
            return .object([:])
        case "messages:mark-read":
            return try markRead(fields, in: roomID, by: userID).data
        case "element:create":
            let answer = try makeElement(fields, in: roomID, by: userID)
            let members: [String: JSON] = ["element": answer.data]
            return .object(answer.isDuplicate ? members.merging(["duplicate": .bool(true)]) { $1 } : members)
        case "element:update":
            let room = try room(roomID, of: userID)
            let id = try fields.required("elementId")
            return .object(["element": try updateElement(id, fields, in: room.id, by: userID).data])
        case "element:delete":
            let room = try room(roomID, of: userID)
            _ = try deleteElement(try fields.required("elementId"), in: room.id, by: userID)
            return .object([:])
        case "room:clear":
            return try clear(roomID, by: userID).data
        default:
            throw .malformed("There is no event \(event).")
        }
    }
}
