/// The counts of a room's row.
public struct RoomCount: Hashable, Sendable {
    /// The number of elements in the room.
    public var elements: Int
    /// The number of elements that others created since the person last had the room open.
    public var unseenElements: Int
    /// The number of others' messages that the person has not read.
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
