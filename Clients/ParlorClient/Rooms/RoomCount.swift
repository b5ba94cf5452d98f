/// The counts of a room's row.
public struct RoomCount: Hashable, Sendable {
    /// The number of elements in the room.
    public var elements: Int
    /// The number of elements that others created since the person last had the room open.
    public var unseenElements: Int { didSet { if unseenElements != oldValue { follow() } } }
    /// The number of others' messages that the person has not read.
    public var unreadMessages: Int { didSet { if unreadMessages != oldValue { follow() } } }
    /// The badges of services that were added to the server, by name, as the server last sent them. While a
    /// service is down, known badges stay where an answer has 0; a `room:badges` event still lowers them.
    public private(set) var otherBadges: [String: Int]
    /// The server's value, until the library changes one of the two counts above before the server does: it
    /// counts new elements and messages itself, and opening a room marks its elements as seen.
    ///
    /// From then on it is true if one of the two is above zero, or if something else made the server's value
    /// true: another badge above zero, or a reason that the server does not name, when all badges were at zero.
    /// The next `room:badges` and the next answer set it again.
    public private(set) var hasUnread: Bool
    /// True if more than the two counts made the server's value true.
    private var isUnreadOtherwise: Bool

    /// - Parameter hasUnread: the server's value; by default true if a badge is above zero.
    public init(
        elements: Int = 0, unseenElements: Int = 0, unreadMessages: Int = 0, otherBadges: [String: Int] = [:],
        hasUnread: Bool? = nil
    ) {
        self.elements = elements
        self.unseenElements = unseenElements
        self.unreadMessages = unreadMessages
        self.otherBadges = otherBadges
        let isNewOtherwise = otherBadges.values.contains { $0 > 0 }
        let isNew = unseenElements > 0 || unreadMessages > 0
        self.hasUnread = hasUnread ?? (isNew || isNewOtherwise)
        isUnreadOtherwise = self.hasUnread && (isNewOtherwise || !isNew)
    }

    init(elements: Int, badges: Room.Badges, hasUnread: Bool) {
        self.init(
            elements: elements, unseenElements: badges.elements, unreadMessages: badges.messages,
            otherBadges: badges.others, hasUnread: hasUnread)
    }

    init(_ room: Room) { self.init(elements: room.elementCount, badges: room.badges, hasUnread: room.hasUnread) }

    private mutating func follow() { hasUnread = unseenElements > 0 || unreadMessages > 0 || isUnreadOtherwise }

    /// Keeps the known badges of added services where this count, of an answer that lacks some of them, has a
    /// zero or nothing. Its other badges are of services that answered, or the server's last known ones.
    mutating func keepOthers(of known: RoomCount) {
        let answered = otherBadges
        otherBadges.merge(known.otherBadges) { $0 == 0 ? $1 : $0 }
        guard otherBadges != answered else { return }
        // The server's value without what was kept, and what it was with that.
        isUnreadOtherwise = isUnreadOtherwise || known.isUnreadOtherwise
        hasUnread = hasUnread || isUnreadOtherwise
    }
}
