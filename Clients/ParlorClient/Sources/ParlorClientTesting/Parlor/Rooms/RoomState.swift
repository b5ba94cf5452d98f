import ParlorClient

/// A room with its contents. Times are milliseconds since 1970.
struct RoomState: Sendable {
    let id: String
    private(set) var name: String?
    let createdBy: String
    let createdAt: Int
    private(set) var updatedAt: Int
    private(set) var messagesUpdatedAt: Int?
    /// The creator first. Nobody joins later.
    var participants: [Person]
    private(set) var messages = Messages()
    private(set) var board = Board()

    var lastActivityAt: Int { max(updatedAt, messagesUpdatedAt ?? .min) }

    func participant(_ userID: String) -> Person? { participants.first { $0.id == userID } }

    func others(than userID: String) -> [String] { participants.map(\.id).filter { $0 != userID } }

    mutating func rename(to name: String?, by userID: String, _ numbers: inout Numbers) -> [Effect] {
        guard name != self.name else { return [] }
        self.name = name
        updatedAt = numbers.stamp()
        let global: JSON = ["updatedBy": .string(userID), "updatedAt": .string(WireTime.seconds(updatedAt))]
        let room: JSON = ["id": .string(id), "name": .optional(name), "updatedAt": global["updatedAt"] ?? .null]
        return events("room:updated", ["room": room], global)
    }

    /// Marks the elements as seen by a person.
    mutating func see(by userID: String) -> [Effect] { board.see(by: userID) ? [.badges(of: userID)] : [] }

    /// Makes a person's change.
    ///
    /// - Parameter viewers: the people who have the room open with its board.
    mutating func perform(
        _ change: RoomChange, _ fields: JSON, by userID: String, viewers: Set<String>, _ numbers: inout Numbers
    ) throws(Refused) -> Answer {
        switch change {
        case .send: try send(fields, by: userID, &numbers)
        case .deleteMessage: try deleteMessage(fields, by: userID, &numbers)
        case .markRead: try markRead(fields, by: userID, &numbers)
        case .createElement: try createElement(fields, by: userID, viewers, &numbers)
        case .updateElement: try updateElement(fields, by: userID, &numbers)
        case .deleteElement: try deleteElement(fields, by: userID, &numbers)
        case .clear: clear(by: userID, &numbers)
        }
    }

    mutating func send(_ fields: JSON, by userID: String, _ numbers: inout Numbers) throws(Refused) -> Answer {
        guard let sender = participant(userID) else { throw .notFound("room") }
        let (message, isNew) = try messages.add(fields, by: sender, &numbers)
        let payload = json(message)
        guard isNew else { return Answer(200, payload, isDuplicate: true) }
        let global: JSON = ["messageId": .string(message.id), "senderId": .string(userID)]
        let events = messagesChanged("message:new", ["message": payload], global, at: message.createdAt)
        return Answer(201, payload, [.endTyping(of: userID)] + events)
    }

    mutating func deleteMessage(_ fields: JSON, by userID: String, _ numbers: inout Numbers) throws(Refused) -> Answer {
        let message = try messages.remove(try fields.required("messageId"), by: userID)
        let payload = withID(["messageId": .string(message.id), "deletedBy": .string(userID)])
        let events = messagesChanged("message:deleted", payload, payload, at: numbers.stamp())
        let unread = others(than: userID).filter(message.isUnread)
        return Answer(204, .null, [.forget(messageID: message.id)] + events + unread.map { .badges(of: $0) })
    }

    mutating func markRead(_ fields: JSON, by userID: String, _ numbers: inout Numbers) throws(Refused) -> Answer {
        let ids = Set(try fields.strings("messageIds"))
        let time = numbers.stamp()
        let read = messages.markRead(ids, by: userID, at: time)
        let payload = withID([
            "userId": .string(userID), "messageIds": .array(read.map(JSON.string)),
            "readAt": .string(WireTime.milliseconds(time)),
        ])
        let effects: [Effect] = [.emit("messages:read", payload, to: .room), .badges(of: userID)]
        return Answer(200, ["readCount": .integer(read.count)], read.isEmpty ? [] : effects)
    }

    mutating func createElement(
        _ fields: JSON, by userID: String, _ viewers: Set<String>, _ numbers: inout Numbers
    ) throws(Refused) -> Answer {
        let absent = others(than: userID).filter { !viewers.contains($0) }
        let (element, isNew) = try board.add(fields, by: userID, unseenBy: absent, &numbers)
        let payload = element.json(in: id)
        guard isNew else { return Answer(200, payload, isDuplicate: true) }
        let global: JSON = [
            "elementId": .string(element.id), "createdBy": .string(userID), "type": .string(element.type),
        ]
        return Answer(
            201, payload, boardChanged("element:created", ["element": payload], global, at: element.createdAt))
    }

    mutating func updateElement(_ fields: JSON, by userID: String, _ numbers: inout Numbers) throws(Refused) -> Answer {
        let element = try board.update(try fields.required("elementId"), fields, by: userID, &numbers)
        let payload = element.json(in: id)
        let global: JSON = ["elementId": .string(element.id), "updatedBy": .string(userID)]
        return Answer(
            200, payload, boardChanged("element:updated", ["element": payload], global, at: element.updatedAt))
    }

    mutating func deleteElement(_ fields: JSON, by userID: String, _ numbers: inout Numbers) throws(Refused) -> Answer {
        let elementID = try fields.required("elementId")
        try board.remove(elementID)
        let payload = withID(["elementId": .string(elementID), "deletedBy": .string(userID)])
        return Answer(204, .null, boardChanged("element:deleted", payload, payload, at: numbers.stamp()))
    }

    mutating func clear(by userID: String, _ numbers: inout Numbers) -> Answer {
        let count = board.clear()
        let data: JSON = ["deletedCount": .integer(count)]
        guard count > 0 else { return Answer(200, data) }
        let payload = withID(["clearedBy": .string(userID)])
        return Answer(200, data, boardChanged("room:cleared", payload, payload, at: numbers.stamp()))
    }

    // MARK: Events

    private mutating func messagesChanged(_ event: String, _ data: JSON, _ global: JSON, at time: Int) -> [Effect] {
        messagesUpdatedAt = time
        return events(event, data, global.adding(["messagesUpdatedAt": .string(WireTime.seconds(time))]))
    }

    private mutating func boardChanged(_ event: String, _ data: JSON, _ global: JSON, at time: Int) -> [Effect] {
        updatedAt = time
        let counts: [String: JSON] = [
            "updatedAt": .string(WireTime.seconds(time)), "elementCount": .integer(board.elements.count),
            "rev": .integer(board.rev),
        ]
        return events(event, data, global.adding(counts))
    }

    /// Returns an event for the room, and its `:global` event for everyone.
    private func events(_ event: String, _ data: JSON, _ global: JSON) -> [Effect] {
        [.emit(event, data, to: .room), .emit(event + ":global", withID(global), to: .everyone)]
    }

    /// Adds the room's id to an event's data.
    private func withID(_ data: JSON) -> JSON { data.adding(["roomId": .string(id)]) }

    // MARK: JSON

    /// Returns the members of the room as one person sees it, without those of plugins.
    ///
    /// - Parameters:
    ///   - present: the people who have the room open.
    ///   - isListed: true for `my-rooms` and `sync`. There an unnamed room has an empty name instead of null.
    func members(for userID: String, present: Set<String>, isListed: Bool) -> [String: JSON] {
        let isMessage = messagesUpdatedAt.map { $0 > updatedAt } ?? false
        let last: JSON? = messages.all.last.map { message in
            [
                "id": .string(message.id), "senderId": .string(message.sender.id), "text": .string(message.text),
                "createdAt": .string(WireTime.milliseconds(message.createdAt)),
            ]
        }
        let people = participants.map { person -> JSON in
            [
                "userId": .string(person.id), "username": .string(person.username),
                "firstName": .optional(person.firstName), "joinedAt": .string(WireTime.seconds(createdAt)),
                "isPresent": .bool(present.contains(person.id)),
            ]
        }
        return [
            "id": .string(id), "name": .optional(name ?? (isListed ? "" : nil)),
            "displayName": .string(name ?? participants.map(\.displayName).joined(separator: " & ")),
            "createdBy": .string(createdBy), "createdAt": .string(WireTime.seconds(createdAt)),
            "updatedAt": .string(WireTime.seconds(updatedAt)),
            "messagesUpdatedAt": .optional(messagesUpdatedAt.map(WireTime.seconds)),
            "lastActivityAt": .string(WireTime.milliseconds(lastActivityAt)),
            "lastActivityType": .string(isMessage ? "message" : "roomUpdate"),
            "isActive": .bool(participants.contains { present.contains($0.id) }),
            "participants": .array(people), "elementCount": .integer(board.elements.count),
            "unseenElementCount": .integer(board.unseen(by: userID)), "lastMessage": last ?? .null,
        ]
    }

    func json(_ message: StoredMessage) -> JSON {
        let others = others(than: message.sender.id)
        let reads = message.reads.map { read -> JSON in
            ["userId": .string(read.userID), "readAt": .string(WireTime.milliseconds(read.readAt))]
        }
        return [
            "id": .string(message.id), "roomId": .string(id), "seq": .integer(message.seq),
            "senderId": .string(message.sender.id), "sender": message.sender.json(showsEmail: false),
            "receiverId": .optional(others.count == 1 ? others[0] : nil), "text": .string(message.text),
            "content": .string(message.text), "createdAt": .string(WireTime.milliseconds(message.createdAt)),
            "readStatus": .bool(!others.isEmpty && message.reads.count >= others.count), "readBy": .array(reads),
            "tempId": .optional(message.tempID),
        ]
    }
}
