/// The counts that a room's row shows.
public struct RoomCount: Hashable, Sendable {
    /// The number of elements in the room.
    public var elements: Int
    /// The number of elements that others created since the person last had the room open.
    public var unseenElements: Int { didSet { if unseenElements != oldValue { follow() } } }
    /// The number of others' messages that the person has not read.
    public var unreadMessages: Int { didSet { if unreadMessages != oldValue { follow() } } }
    /// The badges of services that were added to the server, by name, as the server last sent them.
    ///
    /// While such a service is down, a known badge stays if an answer has 0 for it. A `room:badges` event still lowers
    /// it.
    public private(set) var otherBadges: [String: Int]
    /// True if something in the room is new to the person.
    ///
    /// It is the server's value, until the library itself changes ``unseenElements`` or ``unreadMessages``: the library
    /// counts new elements and messages, and opening a room marks its elements as seen. From then on it is true if one
    /// of the two counts is above zero, or if the server had another reason. A plugin's badge above zero is
    /// such a reason. If the server's value was true while all badges were zero, the reason is unknown, but it counts,
    /// too. The next `room:badges` event or answer begins with the server's value again.
    public private(set) var hasUnread: Bool
    /// True if the server's value was true for another reason than the two counts.
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

    /// Keeps the known badges of plugins where this count has 0 or none. This count comes from an answer in
    /// which some services are down: there, 0 may mean that the value is unknown. A badge above zero is current, or
    /// the last value that the server knew.
    mutating func keepOthers(of known: RoomCount) {
        let answered = otherBadges
        otherBadges.merge(known.otherBadges) { $0 == 0 ? $1 : $0 }
        guard otherBadges != answered else { return }
        // The server's value does not include the badges that were kept.
        isUnreadOtherwise = isUnreadOtherwise || known.isUnreadOtherwise
        hasUnread = hasUnread || isUnreadOtherwise
    }
}
