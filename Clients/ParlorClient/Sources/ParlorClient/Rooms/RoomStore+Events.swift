import Foundation

extension RoomStore {
    /// Applies an event, except for counts: ``RoomCounts`` has those.
    ///
    /// - Returns: the id of the event's room; nil if the store does not have that room.
    mutating func apply(_ event: RoomEvent, now: Date) -> String? {
        switch event {
        case .messageNew(let message): applyMessage(message, now)
        case .messageNewGlobal(let roomID, let messageID, _, let time):
            applyMessage(messageID, in: roomID, at: time, now)
        case .messageDeleted(let roomID, let messageID, _): applyDeletion(of: messageID, in: roomID, at: nil, now)
        case .messageDeletedGlobal(let roomID, let messageID, _, let time):
            applyDeletion(of: messageID, in: roomID, at: time, now)
        case .elementCreated(let element), .elementUpdated(let element):
            applyElement(element.id, in: element.roomID, at: element.updatedAt, now)
        case .elementDeleted(let roomID, let elementID, _): applyElement(elementID, in: roomID, at: nil, now)
        case .roomCleared(let roomID, _): applyElement(nil, in: roomID, at: nil, now)
        case .elementsChangedGlobal(let change): apply(change, now)
        case .roomUpdated(let roomID, let name, let time): applyName(name, of: roomID, at: time, now)
        case .roomUpdatedGlobal(let roomID, _, let time): applyUpdate(of: roomID, at: time, now)
        case .participantJoined(let roomID, let participant, _, let time):
            applyPeople(of: roomID, at: time, now) { $0.put(participant) }
        case .participantUpdated(let roomID, let participant):
            applyPeople(of: roomID, at: nil, now) { $0.put(participant) }
        case .participantLeft(let roomID, let userID, _, let time): applyLeaving(userID, roomID, at: time, now)
        case .roomCreated(let room): applyNew(room, now)
        case .badges(let roomID, _, _): touch(roomID, isDoubtful: true, now: now) ? roomID : nil
        // Participants of a created room also get `roomCreated`, which has the room. `RoomList` applies presence and
        // removals.
        case .roomCreatedGlobal, .roomRemoved, .presence, .typing, .messagesRead, .requestFailed, .unknown: nil
        }
    }

    private mutating func applyMessage(_ message: Message, _ now: Date) -> String? {
        let roomID = message.roomID
        guard touch(roomID, now: now) else { return nil }
        meet(.message(message.id), of: roomID)
        guard deletedMessages[message.id] == nil else { return roomID }
        change(roomID) { room in
            if let last = room.lastMessage, last.createdAt > message.createdAt { return }
            room.noteMessages(at: message.createdAt)
            room.lastMessage = .init(
                id: message.id, senderID: message.senderID, text: message.text, createdAt: message.createdAt)
        }
        return roomID
    }

    private mutating func applyMessage(_ id: String, in roomID: String, at time: Date, _ now: Date) -> String? {
        guard touch(roomID, now: now) else { return nil }
        // Ids sort by creation. A message that is not newer than the shown one was applied before, or came with an
        // answer.
        if let last = self[roomID]?.lastMessage, id <= last.id { return roomID }
        guard deletedMessages[id] == nil else { return roomID }
        let time = fullTime(of: time, in: roomID)
        change(roomID) { $0.noteMessages(at: time) }
        need(.message(id), of: roomID)
        return roomID
    }

    private mutating func applyDeletion(of id: String, in roomID: String, at time: Date?, _ now: Date) -> String? {
        guard touch(roomID, now: now) else { return nil }
        deletedMessages.set(true, for: id)
        meet(.message(id), of: roomID)
        if let time {
            let time = fullTime(of: time, in: roomID)
            change(roomID) { $0.noteMessages(at: time) }
            meet(.deletion(id), of: roomID)
        } else {
            need(.deletion(id), of: roomID)
        }
        guard self[roomID]?.lastMessage?.id == id else { return roomID }
        // The deleted message is no longer shown. The one before it comes with the answer.
        change(roomID) { $0.lastMessage = nil }
        need(.answer, of: roomID)
        return roomID
    }

    /// Applies an event of an element. It has no count. The `:global` event that accompanies it has one, but is not
    /// replayed.
    ///
    /// - Parameter id: the element; nil if the room was cleared.
    private mutating func applyElement(_ id: String?, in roomID: String, at time: Date?, _ now: Date) -> String? {
        guard touch(roomID, now: now) else { return nil }
        if let time { change(roomID) { $0.noteContent(at: time) } }
        need(id.map(RoomNeed.element) ?? .clearing, of: roomID)
        return roomID
    }

    private mutating func apply(_ event: RoomEvent.ElementsChange, _ now: Date) -> String? {
        let isUnseen = event.kind == .created && event.userID != userID
        guard touch(event.roomID, isDoubtful: isUnseen, now: now) else { return nil }
        meet(event.elementID.map(RoomNeed.element) ?? .clearing, of: event.roomID)
        let time = fullTime(of: event.updatedAt, in: event.roomID)
        change(event.roomID) { $0.noteContent(at: time) }
        return event.roomID
    }

    private mutating func applyName(_ name: String?, of roomID: String, at time: Date, _ now: Date) -> String? {
        guard touch(roomID, now: now) else { return nil }
        noteDescription(of: roomID, at: time)
        let full = fullTime(of: time, in: roomID)
        change(roomID) { room in
            room.takeName(name)
            room.noteContent(at: full)
        }
        return roomID
    }

    /// Applies an event that does not say what changed. If the room's own event has arrived before it, that was the
    /// change. Otherwise the room is fetched.
    private mutating func applyUpdate(of roomID: String, at time: Date, _ now: Date) -> String? {
        guard touch(roomID, now: now) else { return nil }
        guard describedAt.removeValue(forKey: roomID) != time else { return roomID }
        let time = fullTime(of: time, in: roomID)
        change(roomID) { $0.noteContent(at: time) }
        need(.answer, of: roomID)
        return roomID
    }

    private mutating func applyNew(_ room: Room, _ now: Date) -> String? {
        noteReturn(of: room.id)
        _ = touch(room.id, now: now)
        guard !sorted.contains(room.id) else { return room.id }
        var new = room.withFullTimes
        new.setPresent(present(in: new.id))
        put(new)
        return room.id
    }

    /// Returns a time with milliseconds for an event that has only seconds. If the real order is unknown, the event's room
    /// is fetched.
    mutating func fullTime(of second: Date, in roomID: String) -> Date {
        let (time, isAmong) = sorted.fullTime(of: second, in: roomID)
        if isAmong { need(.answer, of: roomID) }
        return time
    }
}

extension RoomEvent {
    /// The room of a new message or element, and the person who made it; nil for other events.
    var arrival: (roomID: String, personID: String)? {
        switch self {
        case .messageNew(let message): (message.roomID, message.senderID)
        case .messageNewGlobal(let roomID, _, let senderID, _): (roomID, senderID)
        case .elementCreated(let element): (element.roomID, element.createdBy)
        case .elementsChangedGlobal(let change) where change.kind == .created: (change.roomID, change.userID)
        default: nil
        }
    }

    /// True for an event about a newly created element.
    var isOfNewElement: Bool {
        switch self {
        case .elementCreated: true
        case .elementsChangedGlobal(let change): change.kind == .created
        default: false
        }
    }

    /// True if the server replays the event after a reconnect. It replays events to rooms and to persons, except for
    /// presence and typing.
    var isRepeated: Bool {
        switch self {
        case .messageNew, .messageDeleted, .messagesRead, .elementCreated, .elementUpdated, .elementDeleted,
            .roomCleared,
            .roomUpdated, .participantJoined, .participantLeft, .participantUpdated, .roomCreated, .roomRemoved,
            .badges:
            true
        case .typing, .presence, .messageNewGlobal, .messageDeletedGlobal, .elementsChangedGlobal, .roomCreatedGlobal,
            .roomUpdatedGlobal, .requestFailed, .unknown:
            false
        }
    }
}
