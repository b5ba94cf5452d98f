import Foundation

/// A room, as one person sees it.
public struct Room: Codable, Hashable, Sendable, Identifiable {
    public var id: String
    public var kind: Kind
    /// The room's name; nil if it has none, also where the server sends an empty one.
    public var name: String?
    /// The name, or the participants' names. It is empty if an older server sends neither, so show
    /// ``title(unnamed:)`` instead.
    public var displayName: String
    public var createdBy: String
    public var createdAt: Date
    public var updatedAt: Date
    /// The time when a message was last sent or deleted; nil before the first message.
    public var messagesUpdatedAt: Date?
    /// The time of the room's last activity of any kind, with milliseconds. The other times are whole seconds.
    public var lastActivityAt: Date
    public var lastActivityType: ActivityType
    /// True if somebody has the room open. In a ``RoomList``, true only if another person has it open while it is open
    /// here and there is a connection: the server notifies nobody else.
    public var isActive: Bool
    /// The participants, in the order in which they came. Of a group with more than ten, a ``RoomList`` has only the
    /// first ones and the person, until the room is opened; ``participantCount`` counts all.
    public var participants: [Participant]
    public var participantCount: Int
    public var elementCount: Int
    /// The counts of what is new to the person.
    public var badges: Badges
    /// True if something in the room is new to the person. The server decides. In a ``RoomList`` the value also
    /// follows the two badges that the library counts itself, as ``RoomCount/hasUnread`` describes.
    public var hasUnread: Bool
    public var lastMessage: LastMessage?
    /// The members of the server's JSON that this version of the library does not know, by name, such as fields of
    /// plugins. They are as of the last answer with the room: no event changes them, but
    /// ``RoomList/refreshSoon(_:)`` fetches them again.
    public var extras: [String: JSON]

    public enum Kind: String, Codable, Sendable {
        /// A room of two people, who never change.
        case direct
        /// A room whose people come and go.
        case group
    }

    /// What happened last in a room.
    public enum ActivityType: String, Codable, Sendable {
        case message
        case roomUpdate
    }

    /// A person in a room.
    public struct Participant: Codable, Hashable, Sendable, Identifiable {
        public var userID: String
        public var username: String
        public var firstName: String?
        public var joinedAt: Date
        /// What the person may do. In a direct room both may do everything.
        public var role: Role
        /// True if the person has the room open. In a ``RoomList``, as with ``Room/isActive``.
        public var isPresent: Bool

        enum CodingKeys: String, CodingKey {
            case userID = "userId"
            case username, firstName, joinedAt, role, isPresent
        }

        public enum Role: String, Codable, Sendable {
            /// May add and remove people, and set roles.
            case owner
            case member
        }

        public var id: String { userID }

        public init(
            userID: String, username: String, firstName: String? = nil, joinedAt: Date, role: Role = .member,
            isPresent: Bool
        ) {
            self.userID = userID
            self.username = username
            self.firstName = firstName
            self.joinedAt = joinedAt
            self.role = role
            self.isPresent = isPresent
        }
    }

    /// The counts of what is new in a room, by name.
    public struct Badges: Codable, Hashable, Sendable {
        public var messages: Int
        public var elements: Int
        /// The badges of plugins, by name, including those at zero. `messages` and `elements` are not among
        /// them.
        public var others: [String: Int]

        public init(messages: Int = 0, elements: Int = 0, others: [String: Int] = [:]) {
            self.messages = messages
            self.elements = elements
            self.others = others
        }

        /// The badge with this name, of any service; 0 if there is none.
        public subscript(name: String) -> Int {
            switch name {
            case "messages": messages
            case "elements": elements
            default: others[name] ?? 0
            }
        }

        var isAnyAboveZero: Bool { messages > 0 || elements > 0 || others.values.contains { $0 > 0 } }
    }

    /// The newest message of a room.
    public struct LastMessage: Codable, Hashable, Sendable {
        public var id: String
        public var senderID: String
        public var text: String
        public var createdAt: Date

        private enum CodingKeys: String, CodingKey {
            case id
            case senderID = "senderId"
            case text, createdAt
        }

        public init(id: String, senderID: String, text: String, createdAt: Date) {
            self.id = id
            self.senderID = senderID
            self.text = text
            self.createdAt = createdAt
        }
    }

    /// - Parameter participantCount: nil for the number of these participants.
    public init(
        id: String, kind: Kind = .direct, name: String? = nil, displayName: String, createdBy: String, createdAt: Date,
        updatedAt: Date,
        messagesUpdatedAt: Date? = nil, lastActivityAt: Date, lastActivityType: ActivityType = .roomUpdate,
        isActive: Bool = false, participants: [Participant] = [], participantCount: Int? = nil, elementCount: Int = 0,
        badges: Badges = Badges(), hasUnread: Bool = false, lastMessage: LastMessage? = nil,
        extras: [String: JSON] = [:]
    ) {
        self.id = id
        self.kind = kind
        self.name = name
        self.displayName = displayName
        self.createdBy = createdBy
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.messagesUpdatedAt = messagesUpdatedAt
        self.lastActivityAt = lastActivityAt
        self.lastActivityType = lastActivityType
        self.isActive = isActive
        self.participants = participants
        self.participantCount = participantCount ?? participants.count
        self.elementCount = elementCount
        self.badges = badges
        self.hasUnread = hasUnread
        self.lastMessage = lastMessage
        self.extras = extras
    }
}

/// A person and the direct rooms that the caller shares with them.
public struct PersonWithRooms: Codable, Hashable, Sendable, Identifiable {
    public var person: Person
    public var rooms: [Room]

    public var id: String { person.id }

    private enum CodingKeys: CodingKey {
        case rooms
    }

    public init(person: Person, rooms: [Room]) {
        self.person = person
        self.rooms = rooms
    }

    public init(from decoder: any Decoder) throws {
        person = try Person(from: decoder)
        rooms = try decoder.container(keyedBy: CodingKeys.self).decode([Room].self, forKey: .rooms)
    }

    public func encode(to encoder: any Encoder) throws {
        try person.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(rooms, forKey: .rooms)
    }
}
