import Foundation

/// An event from the server. `docs/api-sockets.md` describes the events.
public enum RoomEvent: Equatable, Sendable {
    // Events that go to sockets which have joined the room.
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
    /// Somebody was added to a group. The participant's `isPresent` is false, as this event does not have it.
    case participantJoined(roomID: String, Room.Participant, addedBy: String, updatedAt: Date)
    /// Somebody has left a group, or was removed; `removedBy` is nil for who left.
    case participantLeft(roomID: String, userID: String, removedBy: String?, updatedAt: Date)
    /// Somebody in a group has another role. The participant's `isPresent` is false, as this event does not have it.
    case participantUpdated(roomID: String, Room.Participant)

    // Events that go to everyone connected, or only to the room's participants (`GLOBAL_SCOPE`). They have only ids,
    // times and counts.
    case messageNewGlobal(roomID: String, messageID: String, senderID: String, messagesUpdatedAt: Date)
    case messageDeletedGlobal(roomID: String, messageID: String, deletedBy: String, messagesUpdatedAt: Date)
    case elementsChangedGlobal(ElementsChange)
    case roomCreatedGlobal(roomID: String, createdBy: String)
    case roomUpdatedGlobal(roomID: String, updatedBy: String, updatedAt: Date)

    // Events that go to all sockets of the person.
    /// A room with the person was created, or the person was added to a group.
    case roomCreated(Room)
    /// The person has left a group, or was removed; `removedBy` is nil for who left.
    case roomRemoved(roomID: String, removedBy: String?)
    case badges(roomID: String, badges: Room.Badges, hasUnread: Bool)

    /// The server refused an event that was sent without an ack.
    case requestFailed(event: String, Refusal)
    /// An event that this version of the library cannot read or does not know, such as one of a plugin. The
    /// data is the whole payload; `.null` if there is none, or if Foundation cannot decode it.
    case unknown(name: String, data: JSON)

    /// The content of a `:global` event about a room's elements.
    public struct ElementsChange: Equatable, Sendable {
        public enum Kind: Equatable, Sendable {
            case created, updated, deleted, cleared
        }

        public var kind: Kind
        public var roomID: String
        /// The changed element; nil if the room was cleared.
        public var elementID: String?
        /// The person who made the change.
        public var userID: String
        public var updatedAt: Date
        /// The number of elements in the room after the change; nil from older servers.
        public var elementCount: Int?
        /// The board's revision after the change, which rises by one with each change; nil from older servers.
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
