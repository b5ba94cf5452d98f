import Foundation

extension Room {
    private enum Member: CodingKey {
        case id, name, displayName, createdBy, createdAt, updatedAt, messagesUpdatedAt, lastActivityAt, lastActivityType
        case isActive, participants, elementCount, unseenElementCount, badges, hasUnread, lastMessage
    }

    /// Decodes a room; fields that older servers omit are derived from the others.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Member.self)
        let name = try members.decodeIfPresent(String.self, forKey: .name)
        let participants: [Participant] = try members.decode(.participants, or: [])
        let createdAt = try members.decode(Date.self, forKey: .createdAt)
        let updatedAt = try members.decode(.updatedAt, or: createdAt)
        let messagesUpdatedAt = try members.decodeIfPresent(Date.self, forKey: .messagesUpdatedAt)
        let isMessageLater = messagesUpdatedAt.map { $0 > updatedAt } ?? false
        let activityType = try members.decodeIfPresent(String.self, forKey: .lastActivityType)
        let unseen = try members.decodeCount(.unseenElementCount)
        let badges = try members.decode(.badges, or: Badges(messages: 0, elements: unseen))
        self.init(
            id: try members.decode(String.self, forKey: .id),
            name: name,
            displayName: Self.displayName(
                try members.decodeIfPresent(String.self, forKey: .displayName), name, participants),
            createdBy: try members.decode(.createdBy, or: ""),
            createdAt: createdAt,
            updatedAt: updatedAt,
            messagesUpdatedAt: messagesUpdatedAt,
            lastActivityAt: try members.decode(.lastActivityAt, or: max(updatedAt, messagesUpdatedAt ?? updatedAt)),
            lastActivityType: activityType.flatMap(ActivityType.init) ?? (isMessageLater ? .message : .roomUpdate),
            isActive: try members.decode(.isActive, or: false),
            participants: participants,
            elementCount: try members.decodeCount(.elementCount),
            badges: badges,
            hasUnread: try members.decode(.hasUnread, or: badges.messages > 0 || badges.elements > 0),
            lastMessage: try members.decodeIfPresent(LastMessage.self, forKey: .lastMessage))
    }

    private static func displayName(_ given: String?, _ name: String?, _ participants: [Participant]) -> String {
        if let text = [given, name].compactMap(\.self).first(where: { !$0.isEmpty }) { return text }
        return participants.map(\.displayName).joined(separator: " & ")
    }
}

extension Room.Participant {
    private enum Member: CodingKey {
        case userId, username, firstName, joinedAt, isPresent
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Member.self)
        self.init(
            userId: try members.decode(String.self, forKey: .userId),
            username: try members.decode(.username, or: ""),
            firstName: try members.decodeIfPresent(String.self, forKey: .firstName),
            joinedAt: try members.decode(.joinedAt, or: .distantPast),
            isPresent: try members.decode(.isPresent, or: false))
    }
}

extension Room.Badges {
    private enum Member: CodingKey {
        case messages, elements
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Member.self)
        self.init(
            messages: try members.decodeCount(.messages), elements: try members.decodeCount(.elements))
    }
}
