import Foundation

/// What the server tells unasked, by the contract's names.
public enum RoomEvent: Equatable, Sendable {
    // To sockets that have joined the room.
    case messageNew(Message)
    case messageDeleted(roomID: String, messageID: String, deletedBy: String)
    case typing(roomID: String, userID: String, isTyping: Bool)
    case messagesRead(roomID: String, userID: String, messageIDs: [String], readAt: Date)
    case elementCreated(Element)
    case elementUpdated(Element)
    case elementDeleted(roomID: String, elementID: String, deletedBy: String)
    case roomCleared(roomID: String, clearedBy: String)
    case roomUpdated(roomID: String, name: String?, updatedAt: Date)
    case presence(roomID: String, userID: String, isPresent: Bool)

    // To everyone connected: ids, times and counts only.
    case messageNewGlobal(roomID: String, messageID: String, senderID: String, messagesUpdatedAt: Date)
    case messageDeletedGlobal(roomID: String, messageID: String, deletedBy: String, messagesUpdatedAt: Date)
    case elementsChangedGlobal(ElementsChange)
    case roomCreatedGlobal(roomID: String, createdBy: String)
    case roomUpdatedGlobal(roomID: String, updatedBy: String, updatedAt: Date)

    // To the person, on every socket.
    case roomCreated(Room)
    case badges(roomID: String, badges: Room.Badges, hasUnread: Bool)

    /// An event sent without an ack was refused.
    case requestFailed(event: String, Refusal)
    /// One that this version does not know, or cannot read.
    case unknown(name: String)

    /// A `:global` event of a room's elements.
    public struct ElementsChange: Equatable, Sendable {
        public enum Kind: Equatable, Sendable {
            case created, updated, deleted, cleared
        }

        public var kind: Kind
        public var roomID: String
        /// nil of a cleared room.
        public var elementID: String?
        /// Who did it.
        public var userID: String
        public var updatedAt: Date
        /// The room's total after it, and its element revision; nil from older servers.
        public var elementCount: Int?
        public var rev: Int?

        public init(
            kind: Kind, roomID: String, elementID: String? = nil, userID: String, updatedAt: Date,
            elementCount: Int? = nil, rev: Int? = nil
        ) {
            self.kind = kind
            self.roomID = roomID
            self.elementID = elementID
            self.userID = userID
            self.updatedAt = updatedAt
            self.elementCount = elementCount
            self.rev = rev
        }
    }
}
