import Foundation

extension RoomOrder {
    /// True if a room sorts before another. At the same time the newer room comes first, as on the
    /// server, so any two rooms have one order.
    func sorts(_ room: Room, before other: Room) -> Bool { key(of: room) > key(of: other) }

    /// The greater comes first.
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
    /// When something last happened in it, message or content.
    public var lastActivityDate: Date { max(lastActivityAt, updatedAt, messagesUpdatedAt ?? .distantPast) }

    /// As seen by the server: with the time of the last activity in full, which it has only once.
    ///
    /// Its other times are whole seconds. Without this, rooms of the same second would be in another order than the server's.
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

    /// The name, or the participants as the server joins them, the creator first.
    mutating func takeName(_ newName: String?) {
        name = newName
        let others = participants.filter { $0.userId != createdBy }
        let people = participants.filter { $0.userId == createdBy } + others
        let joined = people.map(\.displayName).joined(separator: " & ")
        displayName = newName.flatMap { $0.isEmpty ? nil : $0 } ?? joined
    }
}

extension Room.Participant {
    /// As a ``Person``'s.
    public var displayName: String { Person.displayName(firstName, username) }
}
