import Foundation

extension RoomOrder {
    /// True if a room sorts before another. If their times are equal, the newer room comes first, as on the
    /// server.
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
    /// The time of the last activity, which is a change of messages or of content.
    public var lastActivityDate: Date { max(lastActivityAt, updatedAt, messagesUpdatedAt ?? .distantPast) }

    /// The room with times that sort as on the server.
    ///
    /// The server sorts by times with milliseconds, but sends only `lastActivityAt` with milliseconds. This copies
    /// `lastActivityAt` to `messagesUpdatedAt` or `updatedAt`, as `lastActivityType` says. Otherwise rooms of the same
    /// second could sort differently than on the server.
    var withFullTimes: Room {
        var room = self
        switch lastActivityType {
        case .message: room.messagesUpdatedAt = messagesUpdatedAt.map { max($0, lastActivityAt) }
        case .roomUpdate: room.updatedAt = max(updatedAt, lastActivityAt)
        }
        return room
    }

    /// Notes a change of messages.
    mutating func noteMessages(at time: Date) {
        messagesUpdatedAt = max(messagesUpdatedAt ?? time, time)
        guard time >= lastActivityAt else { return }
        (lastActivityAt, lastActivityType) = (time, .message)
    }

    /// Notes a change of content: of the elements or the name.
    mutating func noteContent(at time: Date) {
        updatedAt = max(updatedAt, time)
        guard time >= lastActivityAt else { return }
        (lastActivityAt, lastActivityType) = (time, .roomUpdate)
    }

    /// Sets the name and the display name. For an unnamed room the latter joins the participants' names as the server
    /// does, the creator first.
    mutating func takeName(_ newName: String?) {
        name = newName
        let others = participants.filter { $0.userID != createdBy }
        let people = kind == .group ? participants : participants.filter { $0.userID == createdBy } + others
        let joined = people.prefix(Self.namedPeople).map(\.displayName).joined(separator: " & ")
        let rest = participantCount - Self.namedPeople
        displayName = newName.flatMap { $0.isEmpty ? nil : $0 } ?? (rest > 0 ? "\(joined) +\(rest)" : joined)
    }

    /// The number of people whose names are the display name of a room without a name.
    private static let namedPeople = 3

    mutating func takePeople(of other: Room) {
        (participants, participantCount) = (other.participants, other.participantCount)
        takeName(name)
    }
}

extension Room.Participant {
    /// The first name, or the username if there is none, as for a ``Person``.
    public var displayName: String { Person.displayName(firstName, username) }
}
