import Foundation

extension Message {
    private struct Member: OpenKey {
        enum Known: String, CaseIterable {
            case id
            case roomID = "roomId"
            case seq
            case senderID = "senderId"
            case sender, text, content, createdAt, readBy, isRead, readStatus
            case tempID = "tempId"
            /// Known but ignored: `Room.participants` has all receivers.
            case receiverID = "receiverId"
            // What this version ignores.
            case attachments, editedAt, reactions, readCount, replyTo, version
        }

        static let knownNames = NameSet(Known.self)

        let stringValue: String

        init(name: String) { stringValue = name }
    }

    /// Decodes a message, also one of an older server.
    ///
    /// Older servers send `content` and `readStatus`, but no `seq`, `sender` or `readBy`. A missing `seq` becomes 0,
    /// and a missing room an empty `roomID`.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Member.self)
        let sender = try members.decodeIfPresent(Person.self, forKey: .known(.sender))
        let senderID = try members.decodeIfPresent(String.self, forKey: .known(.senderID)) ?? sender?.id
        guard let senderID else {
            throw DecodingError.keyNotFound(
                Member.known(.senderID),
                .init(codingPath: decoder.codingPath, debugDescription: "the message has no sender"))
        }
        let text = try members.decodeIfPresent(String.self, forKey: .known(.text))
        self.init(
            id: try members.decode(String.self, forKey: .known(.id)),
            roomID: try members.decode(.known(.roomID), or: ""),
            seq: try members.decodeCount(.known(.seq)),
            senderID: senderID,
            sender: sender,
            text: try text ?? members.decode(String.self, forKey: .known(.content)),
            createdAt: try members.decode(Date.self, forKey: .known(.createdAt)),
            readBy: try members.decode(.known(.readBy), or: []),
            isRead: try members.decode(.known(.readStatus), or: try members.decode(.known(.isRead), or: false)),
            tempID: try members.decodeIfPresent(String.self, forKey: .known(.tempID)),
            extras: members.decodeExtras())
    }

    /// Encodes a message for a cache, so that it decodes as the same message.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Member.self)
        try members.encode(id, forKey: .known(.id))
        try members.encode(roomID, forKey: .known(.roomID))
        try members.encode(seq, forKey: .known(.seq))
        try members.encode(senderID, forKey: .known(.senderID))
        try members.encodeIfPresent(sender, forKey: .known(.sender))
        try members.encode(text, forKey: .known(.text))
        try members.encode(createdAt, forKey: .known(.createdAt))
        try members.encode(readBy, forKey: .known(.readBy))
        try members.encode(isRead, forKey: .known(.isRead))
        try members.encodeIfPresent(tempID, forKey: .known(.tempID))
        try members.encode(extras: extras)
    }
}

extension Person {
    private struct Member: OpenKey {
        enum Known: String, CaseIterable {
            case id, username, firstName, email
            /// A member of ``PersonWithRooms``, which is decoded from the same object.
            case rooms
        }

        static let knownNames = NameSet(Known.self)

        let stringValue: String

        init(name: String) { stringValue = name }
    }

    /// Decodes a person. A missing username, as in some older answers, becomes an empty one.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Member.self)
        self.init(
            id: try members.decode(String.self, forKey: .known(.id)),
            username: try members.decode(.known(.username), or: ""),
            firstName: try members.decodeIfPresent(String.self, forKey: .known(.firstName)),
            email: try members.decodeIfPresent(String.self, forKey: .known(.email)),
            extras: members.decodeExtras())
    }

    /// Encodes a person for a cache, so that it decodes as the same person.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Member.self)
        try members.encode(id, forKey: .known(.id))
        try members.encode(username, forKey: .known(.username))
        try members.encodeIfPresent(firstName, forKey: .known(.firstName))
        try members.encodeIfPresent(email, forKey: .known(.email))
        try members.encode(extras: extras)
    }
}

extension Element {
    private enum Member: String, CodingKey {
        case id
        case roomID = "roomId"
        case type, content, position, createdBy, createdAt, updatedBy, updatedAt, version
        case tempID = "tempId"
        /// Only a cache has it, and only with the value false.
        case isContentWhole
    }

    /// A member of the content.
    private struct ContentMember: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Decodes an element. If it lacks the members about its last change, they become those of its creation.
    ///
    /// The server stores content as it was written. Parts of it that Foundation cannot decode are left out.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Member.self)
        let createdBy = try members.decode(String.self, forKey: .createdBy)
        let createdAt = try members.decode(Date.self, forKey: .createdAt)
        let (content, isContentWhole) = try Self.content(in: members)
        self.init(
            id: try members.decode(String.self, forKey: .id),
            roomID: try members.decode(String.self, forKey: .roomID),
            type: try members.decode(String.self, forKey: .type),
            content: content,
            position: try members.decodeIfPresent(Position.self, forKey: .position),
            createdBy: createdBy,
            createdAt: createdAt,
            updatedBy: try members.decode(.updatedBy, or: createdBy),
            updatedAt: try members.decode(.updatedAt, or: createdAt),
            version: try members.decodeIfPresent(Int.self, forKey: .version)?.asCount ?? 1,
            tempID: try members.decodeIfPresent(String.self, forKey: .tempID))
        self.isContentWhole = isContentWhole
    }

    private static func content(in members: KeyedDecodingContainer<Member>) throws -> (JSON, isWhole: Bool) {
        let wasWhole: Bool = try members.decode(.isContentWhole, or: true)
        do {
            return (try members.decode(.content, or: .object([:])), wasWhole)
        } catch {
            // One element must not make a board unreadable.
            guard let parts = try? members.nestedContainer(keyedBy: ContentMember.self, forKey: .content) else {
                return (.object([:]), false)
            }
            var content: [String: JSON] = [:]
            for key in parts.allKeys { content[key.stringValue] = try? parts.decode(JSON.self, forKey: key) }
            return (.object(content), false)
        }
    }

    /// Encodes an element for a cache, so that it decodes as the same element.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Member.self)
        try members.encode(id, forKey: .id)
        try members.encode(roomID, forKey: .roomID)
        try members.encode(type, forKey: .type)
        try members.encode(content, forKey: .content)
        try members.encodeIfPresent(position, forKey: .position)
        try members.encode(createdBy, forKey: .createdBy)
        try members.encode(createdAt, forKey: .createdAt)
        try members.encode(updatedBy, forKey: .updatedBy)
        try members.encode(updatedAt, forKey: .updatedAt)
        try members.encode(version, forKey: .version)
        try members.encodeIfPresent(tempID, forKey: .tempID)
        if !isContentWhole { try members.encode(isContentWhole, forKey: .isContentWhole) }
    }
}
