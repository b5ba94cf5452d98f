// Requests from services or gateways to the service whose name they begin with. That service's README documents
// what they take.
extension Subject {
    // MARK: Rooms

    /// The participants of a room. The reply does not depend on the caller.
    public static let membership = "rooms.membership"
    /// The ids of the people who share a room with a person, in pages.
    public static let partners = "rooms.partners"
    /// The rooms that two people share, in pages.
    public static let sharedRooms = "rooms.shared"
    /// The names of rooms.
    public static let roomNames = "rooms.names"

    // MARK: Accounts

    /// People by their ids.
    public static let people = "accounts.people"
    /// Those of the given sessions that have not ended.
    public static let liveSessions = "accounts.live-sessions"

    // MARK: Messaging

    /// For each given person: how many messages are unread, and the text of each given message that is unread.
    public static let unread = "messaging.unread"
    /// Whether anyone but the given person has ever written a message in one of the given rooms.
    public static let answered = "messaging.answered"
    /// Those of the given messages that still exist; with `roomId`, only those in that room.
    public static let existingMessages = "messaging.existing"

    // MARK: Elements

    /// Those of the given elements that still exist.
    public static let existingElements = "elements.existing"
}
