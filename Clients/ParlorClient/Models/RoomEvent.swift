import Foundation

/// An event from the server. Its name is in the contract.
public enum RoomEvent: Equatable, Sendable {
    // Sent to sockets that have joined the room.
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

    // Sent to everyone connected, with ids, times and counts only.
    case messageNewGlobal(roomID: String, messageID: String, senderID: String, messagesUpdatedAt: Date)
    case messageDeletedGlobal(roomID: String, messageID: String, deletedBy: String, messagesUpdatedAt: Date)
    case elementsChangedGlobal(ElementsChange)
    case roomCreatedGlobal(roomID: String, createdBy: String)
    case roomUpdatedGlobal(roomID: String, updatedBy: String, updatedAt: Date)

    // Sent to the person, on every socket.
    case roomCreated(Room)
    case badges(roomID: String, badges: Room.Badges, hasUnread: Bool)

    /// The server refused an event that was sent without an ack.
    case requestFailed(event: String, Refusal)
    /// An event that this version does not know, such as one of a service that was added to the server, or
    /// cannot read. The data is its whole payload; `.null` if it has none, or one that is not JSON.
    case unknown(name: String, data: JSON)

    /// A `:global` event of a room's elements.
    public struct ElementsChange: Equatable, Sendable {
        public enum Kind: Equatable, Sendable {
            case created, updated, deleted, cleared
        }

        public var kind: Kind
        public var roomID: String
        /// The changed element; nil for a cleared room.
        public var elementID: String?
        /// The person who made the change.
        public var userID: String
        public var updatedAt: Date
        /// The room's total and its element revision after the change; nil from older servers.
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
