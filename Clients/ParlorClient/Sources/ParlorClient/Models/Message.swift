import Foundation

/// A message that the server has stored.
public struct Message: Codable, Hashable, Sendable, Identifiable {
    public var id: String
    public var roomID: String
    /// The message's number in its room, from 1, which orders the messages. From older servers it is 0, and time
    /// orders the messages.
    public var seq: Int
    public var senderID: String
    public var sender: Person?
    public var text: String
    public var createdAt: Date
    /// Who has read the message, and when.
    public var readBy: [Receipt]
    /// True if every other participant has read the message.
    public var isRead: Bool
    /// The id that the sender's client gave the message before it was stored.
    public var tempID: String?
    /// The members of the server's JSON that this version of the library does not know, by name, such as fields of
    /// plugins. Only pages have them: messages in events and in replies to a send have none. A
    /// ``Conversation`` then keeps those that it knows.
    public var extras: [String: JSON]

    /// One person's reading of a message.
    public struct Receipt: Codable, Hashable, Sendable {
        public var userID: String
        public var readAt: Date

        private enum CodingKeys: String, CodingKey {
            case userID = "userId"
            case readAt
        }

        public init(userID: String, readAt: Date) {
            self.userID = userID
            self.readAt = readAt
        }
    }

    public init(
        id: String, roomID: String, seq: Int, senderID: String, sender: Person? = nil, text: String, createdAt: Date,
        readBy: [Receipt] = [], isRead: Bool = false, tempID: String? = nil, extras: [String: JSON] = [:]
    ) {
        self.id = id
        self.roomID = roomID
        self.seq = seq
        self.senderID = senderID
        self.sender = sender
        self.text = text
        self.createdAt = createdAt
        self.readBy = readBy
        self.isRead = isRead
        self.tempID = tempID
        self.extras = extras
    }
}
