import Foundation

extension Room {
    private struct Member: OpenKey {
        enum Known: String, CaseIterable {
            case id, kind, name, displayName, createdBy, createdAt, updatedAt, messagesUpdatedAt, lastActivityAt,
                lastActivityType
            case isActive, participants, participantCount, elementCount, unseenElementCount, badges, hasUnread,
                lastMessage
            // What this version ignores.
            case firstUnreadSeq, settings
        }

        static let knownNames = NameSet(Known.self)

        let stringValue: String

        init(name: String) { stringValue = name }
    }

    /// Decodes a room. Fields that an older server leaves out are derived from the others.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Member.self)
        let name = try members.decodeIfPresent(String.self, forKey: .known(.name)).flatMap { $0.isEmpty ? nil : $0 }
        let participants: [Participant] = try members.decode(.known(.participants), or: [])
        let createdAt = try members.decode(Date.self, forKey: .known(.createdAt))
        let updatedAt = try members.decode(.known(.updatedAt), or: createdAt)
        let messagesUpdatedAt = try members.decodeIfPresent(Date.self, forKey: .known(.messagesUpdatedAt))
        let isMessageLater = messagesUpdatedAt.map { $0 > updatedAt } ?? false
        let kind = try members.decodeIfPresent(String.self, forKey: .known(.kind))
        let activityType = try members.decodeIfPresent(String.self, forKey: .known(.lastActivityType))
        let unseen = try members.decodeCount(.known(.unseenElementCount))
        let badges = try members.decode(.known(.badges), or: Badges(messages: 0, elements: unseen))
        self.init(
            id: try members.decode(String.self, forKey: .known(.id)),
            // A kind that a later server adds has no fixed two people either.
            kind: kind.map { Kind(rawValue: $0) ?? .group } ?? .direct,
            name: name,
            displayName: Self.displayName(
                try members.decodeIfPresent(String.self, forKey: .known(.displayName)), name, participants),
            createdBy: try members.decode(.known(.createdBy), or: ""),
            createdAt: createdAt,
            updatedAt: updatedAt,
            messagesUpdatedAt: messagesUpdatedAt,
            lastActivityAt: try members.decode(
                .known(.lastActivityAt), or: max(updatedAt, messagesUpdatedAt ?? updatedAt)),
            lastActivityType: activityType.flatMap(ActivityType.init) ?? (isMessageLater ? .message : .roomUpdate),
            isActive: try members.decode(.known(.isActive), or: false),
            participants: participants,
            participantCount: try members.decodeIfPresent(Int.self, forKey: .known(.participantCount))?.asCount,
            elementCount: try members.decodeCount(.known(.elementCount)),
            badges: badges,
            hasUnread: try members.decode(.known(.hasUnread), or: badges.isAnyAboveZero),
            lastMessage: try members.decodeIfPresent(LastMessage.self, forKey: .known(.lastMessage)),
            extras: members.decodeExtras())
    }

    /// Encodes a room for a cache, so that it decodes as the same room.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Member.self)
        try members.encode(id, forKey: .known(.id))
        try members.encode(kind, forKey: .known(.kind))
        try members.encodeIfPresent(name, forKey: .known(.name))
        try members.encode(displayName, forKey: .known(.displayName))
        try members.encode(createdBy, forKey: .known(.createdBy))
        try members.encode(createdAt, forKey: .known(.createdAt))
        try members.encode(updatedAt, forKey: .known(.updatedAt))
        try members.encodeIfPresent(messagesUpdatedAt, forKey: .known(.messagesUpdatedAt))
        try members.encode(lastActivityAt, forKey: .known(.lastActivityAt))
        try members.encode(lastActivityType, forKey: .known(.lastActivityType))
        try members.encode(isActive, forKey: .known(.isActive))
        try members.encode(participants, forKey: .known(.participants))
        try members.encode(participantCount, forKey: .known(.participantCount))
        try members.encode(elementCount, forKey: .known(.elementCount))
        try members.encode(badges, forKey: .known(.badges))
        try members.encode(hasUnread, forKey: .known(.hasUnread))
        try members.encodeIfPresent(lastMessage, forKey: .known(.lastMessage))
        try members.encode(extras: extras)
    }

    private static func displayName(_ given: String?, _ name: String?, _ participants: [Participant]) -> String {
        if let text = [given, name].compactMap(\.self).first(where: { !$0.isEmpty }) { return text }
        return participants.map(\.displayName).joined(separator: " & ")
    }
}

extension Room.Participant {
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        let role = try members.decodeIfPresent(String.self, forKey: .role)
        self.init(
            userID: try members.decode(String.self, forKey: .userID),
            username: try members.decode(.username, or: ""),
            firstName: try members.decodeIfPresent(String.self, forKey: .firstName),
            joinedAt: try members.decode(.joinedAt, or: .distantPast),
            role: role.flatMap(Role.init) ?? .member,
            isPresent: try members.decode(.isPresent, or: false))
    }
}

extension Room.Badges {
    private struct Member: OpenKey {
        enum Known: String, CaseIterable {
            case messages, elements
        }

        static let knownNames = NameSet(Known.self)

        let stringValue: String

        init(name: String) { stringValue = name }
    }

    /// Decodes badges. A plugin's badge that is not a count is left out.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Member.self)
        self.init(
            messages: try members.decodeCount(.known(.messages)), elements: try members.decodeCount(.known(.elements)))
        for key in members.allKeys {
            // `try?`: one service's badge must not make a room unreadable.
            others[key.stringValue] = (try? members.decode(Int.self, forKey: key))?.asCount
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Member.self)
        try members.encode(messages, forKey: .known(.messages))
        try members.encode(elements, forKey: .known(.elements))
        try members.encode(extras: others)
    }
}
