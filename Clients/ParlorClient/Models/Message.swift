import Foundation

/// A message that the server has stored.
public struct Message: Codable, Hashable, Sendable, Identifiable {
    public var id: String
    public var roomId: String
    /// The message's number in its room, from 1, which is the order of messages. On older servers it is 0,
    /// and messages are ordered by time.
    public var seq: Int
    public var senderId: String
    public var sender: Person?
    public var text: String
    public var createdAt: Date
    public var readBy: [Receipt]
    /// True if every other participant has read it.
    public var isRead: Bool
    /// The sender's id for the message, from before it was stored.
    public var tempId: String?
    /// The members of the server's message that this version does not know, by name. Pages have them; messages
    /// of events and of replies to a send have none, and known ones then stay in a ``Conversation``.
    public var extras: [String: JSON]

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
