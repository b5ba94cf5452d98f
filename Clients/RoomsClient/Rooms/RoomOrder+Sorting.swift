import Foundation

extension RoomOrder {
    /// True if a room sorts before another. At the same time the newer room comes first, as on the
    /// server, so any two rooms have one order.
    func sorts(_ room: Room, before other: Room) -> Bool { key(of: room) > key(of: other) }

    /// Returns the room's sort key; greater keys come first.
    func key(of room: Room) -> (date: Date, id: String) { (date(of: room), room.id) }

    private func date(of room: Room) -> Date {
        switch self {
        case .activity: room.lastActivityDate
        case .messages: room.messagesUpdatedAt ?? .distantPast
        case .content: room.updatedAt
        }
    }
}

extension Room {
    /// The time of the last activity, message or content.
    public var lastActivityDate: Date { max(lastActivityAt, updatedAt, messagesUpdatedAt ?? .distantPast) }

    /// The room as the server sorts it: with the full time of its last activity, which is the only
    /// one in full.
    ///
    /// Its other times are whole seconds. Without this, rooms of the same second would be in
    /// another order than the server's.
    var withFullTimes: Room {
        var room = self
        switch lastActivityType {
        case .message: room.messagesUpdatedAt = messagesUpdatedAt.map { max($0, lastActivityAt) }
        case .roomUpdate: room.updatedAt = max(updatedAt, lastActivityAt)
        }
        return room
    }

    mutating func noteMessages(at time: Date) {
        messagesUpdatedAt = max(messagesUpdatedAt ?? time, time)
        guard time >= lastActivityAt else { return }
        (lastActivityAt, lastActivityType) = (time, .message)
    }

    mutating func noteContent(at time: Date) {
        updatedAt = max(updatedAt, time)
        guard time >= lastActivityAt else { return }
        (lastActivityAt, lastActivityType) = (time, .roomUpdate)
    }

    /// Sets the name, or joins the participants as the server does, the creator first.
    mutating func takeName(_ newName: String?) {
        name = newName
        let others = participants.filter { $0.userId != createdBy }
        let people = participants.filter { $0.userId == createdBy } + others
        let joined = people.map(\.displayName).joined(separator: " & ")
        displayName = newName.flatMap { $0.isEmpty ? nil : $0 } ?? joined
    }
}

extension Room.Participant {
    /// The display name, as that of a ``Person``.
    public var displayName: String { Person.displayName(firstName, username) }
}
