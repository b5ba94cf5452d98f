import Foundation

extension Message {
    private enum Member: CodingKey {
        case id, roomId, seq, senderId, sender, text, content, createdAt, readBy, isRead, readStatus, tempId
    }

    /// Also decodes messages of older servers, which have `content` and `readStatus` but no `seq`, `sender`
    /// or `readBy`.
    ///
    /// A missing `seq` becomes 0, a missing room an empty `roomId`.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Member.self)
        let sender = try members.decodeIfPresent(Person.self, forKey: .sender)
        let senderID = try members.decodeIfPresent(String.self, forKey: .senderId) ?? sender?.id
        guard let senderID else {
            throw DecodingError.keyNotFound(
                Member.senderId, .init(codingPath: decoder.codingPath, debugDescription: "nobody has sent it"))
        }
        let text = try members.decodeIfPresent(String.self, forKey: .text)
        self.init(
            id: try members.decode(String.self, forKey: .id),
            roomId: try members.decode(.roomId, or: ""),
            seq: try members.decodeCount(.seq),
            senderId: senderID,
            sender: sender,
            text: try text ?? members.decode(String.self, forKey: .content),
            createdAt: try members.decode(Date.self, forKey: .createdAt),
            readBy: try members.decode(.readBy, or: []),
            isRead: try members.decode(.readStatus, or: try members.decode(.isRead, or: false)),
            tempId: try members.decodeIfPresent(String.self, forKey: .tempId))
    }
}

extension Person {
    private enum Member: CodingKey {
        case id, username, firstName, email
    }

    /// Decodes a person; a missing username, as in some older answers, becomes an empty one.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Member.self)
        self.init(
            id: try members.decode(String.self, forKey: .id),
            username: try members.decode(.username, or: ""),
            firstName: try members.decodeIfPresent(String.self, forKey: .firstName),
            email: try members.decodeIfPresent(String.self, forKey: .email))
    }
}

extension Element {
    private enum Member: CodingKey {
        case id, roomId, type, content, position, createdBy, createdAt, updatedBy, updatedAt, version, tempId
    }

    /// Decodes an element; one that was never changed may lack the members about changes.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Member.self)
        let createdBy = try members.decode(String.self, forKey: .createdBy)
        let createdAt = try members.decode(Date.self, forKey: .createdAt)
        self.init(
            id: try members.decode(String.self, forKey: .id),
            roomId: try members.decode(String.self, forKey: .roomId),
            type: try members.decode(String.self, forKey: .type),
            content: try members.decode(.content, or: .object([:])),
            position: try members.decodeIfPresent(Position.self, forKey: .position),
            createdBy: createdBy,
            createdAt: createdAt,
            updatedBy: try members.decode(.updatedBy, or: createdBy),
            updatedAt: try members.decode(.updatedAt, or: createdAt),
            version: try members.decode(.version, or: 1),
            tempId: try members.decodeIfPresent(String.self, forKey: .tempId))
    }
}
