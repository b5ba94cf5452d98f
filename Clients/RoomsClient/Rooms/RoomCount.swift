/// The counts of a room's row.
public struct RoomCount: Hashable, Sendable {
    /// All elements in the room.
    public var elements: Int
    /// Those that others made since one last had the room open.
    public var unseenElements: Int
    /// Others' messages that one has not read.
    public var unreadMessages: Int

    public var hasUnread: Bool { unseenElements > 0 || unreadMessages > 0 }

    public init(elements: Int = 0, unseenElements: Int = 0, unreadMessages: Int = 0) {
        self.elements = elements
        self.unseenElements = unseenElements
        self.unreadMessages = unreadMessages
    }

    init(_ room: Room) {
        self.init(
            elements: room.elementCount, unseenElements: room.badges.elements, unreadMessages: room.badges.messages)
    }
}
