import ParlorClient

/// A room with its contents. Times are milliseconds since 1970.
struct RoomState: Sendable {
    let id: String
    let kind: Room.Kind
    private(set) var name: String?
    let createdBy: String
    let createdAt: Int
    var updatedAt: Int
    private(set) var messagesUpdatedAt: Int?
    /// The participants in the order in which they came, the creator first.
    var participants: [StoredParticipant]
    private(set) var messages = Messages()
    private(set) var board = Board()

    var lastActivityAt: Int { max(updatedAt, messagesUpdatedAt ?? .min) }

    func participant(_ userID: String) -> StoredParticipant? { participants.first { $0.id == userID } }

    func others(than userID: String) -> [String] { participants.map(\.id).filter { $0 != userID } }

    mutating func rename(to name: String?, by userID: String, _ numbers: inout Numbers) -> [Effect] {
        guard name != self.name else { return [] }
        self.name = name
        updatedAt = numbers.stamp()
        let room: JSON = [
            "id": .string(id), "name": .optional(name), "updatedAt": .string(WireTime.seconds(updatedAt)),
        ]
        return [.emit("room:updated", ["room": room], to: .room), changed(by: userID)]
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
        let (message, isNew) = try messages.add(fields, by: sender.person, &numbers)
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
        let unread = participants.filter(message.isUnread).map(\.id)
        return Answer(204, .null, [.forget(messageID: message.id)] + events + unread.map { .badges(of: $0) })
    }

    /// In a room with more people, only the reader and the senders are notified.
    private static let maxNotifiedOfReading = 20

    mutating func markRead(_ fields: JSON, by userID: String, _ numbers: inout Numbers) throws(Refused) -> Answer {
        let ids = Set(try fields.strings("messageIds", count: 1...500))
        guard let reader = participant(userID) else { throw .notFound("room") }
        let time = numbers.stamp()
        let read = messages.markRead(ids, by: reader, at: time)
        let payload = withID([
            "userId": .string(userID), "messageIds": .array(read.map(JSON.string)),
            "readAt": .string(WireTime.milliseconds(time)),
        ])
        var concerned: [String]?
        if participants.count > Self.maxNotifiedOfReading {
            concerned = [userID] + messages.all.filter { read.contains($0.id) }.map(\.sender.id)
        }
        let effects: [Effect] = [
            .emit("messages:read", payload, to: .room, concerning: concerned), .badges(of: userID),
        ]
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
    ///   - isShort: true to show only the first ten participants, and the person.
    func members(for userID: String, present: Set<String>, isListed: Bool, isShort: Bool) -> [String: JSON] {
        let isMessage = messagesUpdatedAt.map { $0 > updatedAt } ?? false
        let last: JSON? = messages.all.last.map { message in
            [
                "id": .string(message.id), "senderId": .string(message.sender.id), "text": .string(message.text),
                "createdAt": .string(WireTime.milliseconds(message.createdAt)),
            ]
        }
        let firstUnread = participant(userID).flatMap { reader in messages.all.first { $0.isUnread(by: reader) } }
        let people = (isShort ? listedParticipants(for: userID) : participants).map {
            $0.json(isPresent: present.contains($0.id))
        }
        return [
            "id": .string(id), "kind": .string(kind.rawValue), "name": .optional(name ?? (isListed ? "" : nil)),
            "displayName": .string(displayName),
            "createdBy": .string(createdBy), "createdAt": .string(WireTime.seconds(createdAt)),
            "updatedAt": .string(WireTime.seconds(updatedAt)),
            "messagesUpdatedAt": .optional(messagesUpdatedAt.map(WireTime.seconds)),
            "lastActivityAt": .string(WireTime.milliseconds(lastActivityAt)),
            "lastActivityType": .string(isMessage ? "message" : "roomUpdate"),
            "isActive": .bool(participants.contains { present.contains($0.id) }),
            "participantCount": .integer(participants.count), "participants": .array(people),
            "elementCount": .integer(board.elements.count),
            "unseenElementCount": .integer(board.unseen(by: userID)), "lastMessage": last ?? .null,
            "firstUnreadSeq": firstUnread.map { .integer($0.seq) } ?? .null,
            "settings": ["archived": .bool(false), "mutedUntil": .null, "pinned": .bool(false)],
        ]
    }

    func json(_ message: StoredMessage) -> JSON {
        let other = kind == .direct ? others(than: message.sender.id).first : nil
        let reads = message.reads.map { read -> JSON in
            ["userId": .string(read.userID), "readAt": .string(WireTime.milliseconds(read.readAt))]
        }
        return [
            "id": .string(message.id), "roomId": .string(id), "seq": .integer(message.seq),
            "senderId": .string(message.sender.id), "sender": message.sender.json(showsEmail: false),
            "receiverId": .optional(other), "text": .string(message.text),
            "content": .string(message.text), "createdAt": .string(WireTime.milliseconds(message.createdAt)),
            "readStatus": .bool(!participants.contains(where: message.isUnread)), "readBy": .array(reads),
            "tempId": .optional(message.tempID), "attachments": .array([]), "editedAt": .null,
            "reactions": .array([]), "readCount": .integer(reads.count), "replyTo": .null, "version": .integer(1),
        ]
    }
}
