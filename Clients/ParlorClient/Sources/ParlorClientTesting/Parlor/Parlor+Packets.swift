import ParlorClient

extension Parlor {
    mutating func receive(_ text: String, on socketID: Int) {
        let received = gateway.receive(text, on: socketID, sessions, rooms, at: numbers.now)
        guard let (request, userID) = received else { return }
        let result = Result { () throws(Refused) in try perform(request, by: userID, on: socketID) }
        gateway.answer(request, with: result, on: socketID)
    }

    /// Handles a socket's event, and returns the ack's members.
    private mutating func perform(
        _ request: SocketRequest, by userID: String, on socketID: Int
    ) throws(Refused) -> JSON {
        let (event, fields) = (request.event, request.fields)
        try checkRefusals(for: event)
        if let handler = plugins.events[event] { return try run(handler, fields, by: userID).data }
        switch event {
        case "room:join":
            let roomID = try rooms.room(try fields.required("roomId"), of: userID).id
            let keepsUnseen = fields["keepUnseen"]?.bool ?? false
            gateway.join(
                roomID, keepsOthers: fields["keepOthers"]?.bool ?? false, keepsUnseen: keepsUnseen, on: socketID)
            if !keepsUnseen { apply(rooms.all[roomID]?.see(by: userID) ?? [], in: roomID) }
            return ["room": json(try rooms.room(roomID, of: userID), for: userID)]
        case "room:leave":
            gateway.leave(try rooms.room(try fields.required("roomId"), of: userID).id, on: socketID)
            return [:]
        case "message:typing":
            let roomID = try fields.required("roomId")
            guard let value = fields.member("isTyping") else { throw .invalid("isTyping", "is missing") }
            guard let isTyping = value.bool else { throw .malformed("isTyping is not a boolean.") }
            let end = isTyping ? numbers.now + 3000 : nil
            gateway.setTyping(until: end, in: try rooms.room(roomID, of: userID).id, on: socketID)
            return [:]
        default: return try act(event, fields, by: userID)
        }
    }

    /// Makes the change that a socket's event requests, and returns the ack's members.
    mutating func act(_ event: String, _ fields: JSON, by userID: String) throws(Refused) -> JSON {
        switch event {
        case "room:create":
            let answer = try makeRoom(fields, by: userID)
            return JSON.object(["room": answer.data]).adding(answer.isDuplicate ? ["duplicate": .bool(true)] : [:])
        case "participants:add":
            return ["room": try addPeople(fields, to: try fields.required("roomId"), by: userID).data]
        case "participant:remove":
            _ = try removePerson(fields, from: try fields.required("roomId"), by: userID)
            return [:]
        case "participant:role":
            return ["room": try setRole(fields, in: try fields.required("roomId"), by: userID).data]
        default:
            let change = try RoomChange(event: event)
            return change.ack(try self.change(change, fields, in: try fields.required("roomId"), by: userID))
        }
    }
}
