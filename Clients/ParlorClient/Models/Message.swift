import Foundation

/// A message that the server has stored.
public struct Message: Codable, Hashable, Sendable, Identifiable {
    public var id: String
    public var roomId: String
    /// The message's number in its room, from 1, which orders the messages. From older servers it is 0, and time
    /// orders the messages.
    public var seq: Int
    public var senderId: String
    public var sender: Person?
    public var text: String
    public var createdAt: Date
    /// Who has read the message, and when.
    public var readBy: [Receipt]
    /// True if every other participant has read the message.
    public var isRead: Bool
    /// The id that the sender's client gave the message before it was stored.
    public var tempId: String?
    /// The members of the server's JSON that this version of the library does not know, by name, such as fields of
    /// added services. Only pages have them: messages in events and in replies to a send have none. A
    /// ``Conversation`` then keeps those that it knows.
    public var extras: [String: JSON]

    /// One person's reading of a message.
    public struct Receipt: Codable, Hashable, Sendable {
        public var userId: String
        public var readAt: Date

        public init(userId: String, readAt: Date) {
            self.userId = userId
            self.readAt = readAt
        }
    }

    public init(
        id: String, roomId: String, seq: Int, senderId: String, sender: Person? = nil, text: String, createdAt: Date,
        readBy: [Receipt] = [], isRead: Bool = false, tempId: String? = nil, extras: [String: JSON] = [:]
    ) {
        self.id = id
        self.roomId = roomId
        self.seq = seq
        self.senderId = senderId
        self.sender = sender
        self.text = text
        self.createdAt = createdAt
        self.readBy = readBy
        self.isRead = isRead
        self.tempId = tempId
        self.extras = extras
    }
}
