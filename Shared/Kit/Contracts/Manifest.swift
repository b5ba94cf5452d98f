import ParlorJSON

/// A declaration of everything that a service offers. Gateways know its routes, events and badges only from
/// here.
public struct Manifest: Sendable, Equatable {
    public let service: String
    public var routes: [Route]
    public var socketEvents: [SocketEvent]
    public var contribution: Contribution?
    /// The fields that the service adds to objects other than Rooms.
    public var objectContributions: [ShownObject: Contribution] = [:]
    /// True if the service keeps an event log that gateways follow.
    public var hasEventLog: Bool
    /// The logs over which it spreads its rooms. `ServiceHost` sets it.
    public var logLayout = LogLayout.single
    /// True if lists of rooms change only with an entry of the service's log. So a gateway can use its cache
    /// while no entry arrives.
    ///
    /// A service that sets it promises the following:
    /// - It writes an entry for each change, in the transaction of the change.
    /// - The entry names the room, and everyone who sees the change is a participant of that room. If the change
    ///   affects more than one room, the entry's room is `""`.
    /// - If fields of messages or people change, the entry has the fact `fieldsChanged`.
    /// - What one person gets in answers and contributions never changes with time alone.
    public var logsWhatRoomsShow: Bool
    /// True if its event log lists sessions that ended (`Fact.sessionsEnded`). Gateways refuse their
    /// tokens. Until a gateway knows which sessions ended, it refuses every token that names a
    /// session.
    public var logsEndedSessions: Bool
    /// The subject of the request that a gateway sends when people open or close rooms there:
    /// `{gateway, rooms: [{roomId, userId}], isOpen}`.
    public var presenceSubject: String?
    public var limits: [RateLimit]
    /// The requests that gateways make of this service before they forward others.
    public var checks: [RequestCheck] = []
    /// The subjects that also accept a list of requests, and reply with a list. `ServiceHost` sets it.
    public var batched: [String] = []
    /// The names of the events that this service alone sends to clients. `ServiceHost` sets it to those that it describes.
    public var emits: [String] = []
    /// True if the service confirms changes of rooms' people, or caches none of them. `ServiceHost` sets it.
    public var confirmsPeopleChanges = false
    /// The digest of the service's description (`Subject.description`); nil if it has none. `ServiceHost` sets it.
    /// Any text of at most 64 bytes, which changes with the description.
    public var descriptionDigest: String?

    public init(
        service: String, routes: [Route] = [], socketEvents: [SocketEvent] = [], contribution: Contribution? = nil,
        hasEventLog: Bool = false, logsWhatRoomsShow: Bool = false, logsEndedSessions: Bool = false,
        presenceSubject: String? = nil, limits: [RateLimit] = []
    ) {
        self.service = service
        self.routes = routes
        self.socketEvents = socketEvents
        self.contribution = contribution
        self.hasEventLog = hasEventLog
        self.logsWhatRoomsShow = logsWhatRoomsShow
        self.logsEndedSessions = logsEndedSessions
        self.presenceSubject = presenceSubject
        self.limits = limits
    }
}

/// An HTTP route and the subject that serves it. The request's data is one object: the body's members, the
/// query's (as strings) and the path's parameters. If a name occurs in several of these, the last one wins.
public struct Route: Sendable, Equatable {
    /// The form in which the gateway passes on the service's reply.
    public enum Answer: String, Sendable {
        /// The data unchanged.
        case plain
        /// The Room as the caller sees it; `data` is the room as the rooms service knows it.
        case room
        /// A list of Rooms, sorted by `?sort=`. A room without a name has the name `""`. `data` is the list of rooms as
        /// the rooms service knows them.
        case rooms
        /// People with their rooms; `data` is `{rooms, people}`.
        case roomsByPerson
        /// Participants of the room in the path; `data` is the list of them as the rooms service knows them.
        case participants
    }

    public let method: String
    /// The path. Segments that start with `:` are parameters: `/api/rooms/:roomId/name`.
    public let path: String
    public let subject: String
    public let needsLogin: Bool
    public let answer: Answer
    /// The names of the rate limits that a call counts against. If there are none, the gateway counts it
    /// against `reads` (GET) or `writes`.
    public let limits: [String]
    /// True if an answer may be large or slow. A person may have only a few such requests in
    /// progress.
    public let isHeavy: Bool
    /// The limit of a body. A longer one is not parsed and gets `payload_too_large`.
    public let maxBodyBytes: Int
    /// True if the gateway adds a member `client` to the request's data (`ClientInfo`), replacing one that
    /// the client sent. Set it only for services that need it.
    public let wantsClient: Bool
    /// The kind of object in a `plain` answer, whose data is one such object or a list of them. The gateway adds
    /// services' fields to each. Nil if the data has no such object.
    public let shows: ShownObject?
    /// True if the data of its requests is not for other services: no check gets a request on this subject. Requests
    /// without login and those with `client` are always confidential.
    public let isConfidential: Bool

    /// The contract's limit of a body, which is also the edge's.
    static let maxBodyBytes = 1 << 20
    /// The limit of a body on a route without login. Anyone may send there, so it is small.
    static let maxBodyBytesWithoutLogin = 16 << 10

    /// - Parameters:
    ///   - isHeavy: nil to derive it from `answer`: `roomsByPerson` is heavy; for `rooms` the gateway decides.
    ///   - maxBodyBytes: nil for 1 MiB, or 16 KiB on a route without login.
    public init(
        _ method: String, _ path: String, _ subject: String, needsLogin: Bool = true, answer: Answer = .plain,
        shows: ShownObject? = nil, limits: [String] = [], isHeavy: Bool? = nil, maxBodyBytes: Int? = nil,
        wantsClient: Bool = false, isConfidential: Bool = false
    ) {
        self.method = method
        self.path = path
        self.subject = subject
        self.needsLogin = needsLogin
        self.answer = answer
        self.limits = limits
        self.isHeavy = isHeavy ?? (answer == .roomsByPerson)
        self.maxBodyBytes = maxBodyBytes ?? (needsLogin ? Self.maxBodyBytes : Self.maxBodyBytesWithoutLogin)
        self.wantsClient = wantsClient
        self.shows = shows
        self.isConfidential = isConfidential || !needsLogin || wantsClient
    }
}

/// A socket event and the subject that serves it. The request's data is the event's payload.
public struct SocketEvent: Sendable, Equatable {
    public let event: String
    public let subject: String
    /// The ack's member for the reply's data; nil to put the data's own members into the ack.
    public let ackName: String?
    /// The members of the data that the ack repeats: the name in the ack, and the name in the data.
    public let ackCopies: [(name: String, from: String)]
    /// The form in which the gateway passes on the service's reply: `plain` or `room`.
    public let answer: Route.Answer
    /// The names of the rate limits that the event counts against. If there are none, the gateway counts it
    /// against `writes`.
    public let limits: [String]

    public init(
        _ event: String, _ subject: String, ackName: String? = nil, ackCopies: [(name: String, from: String)] = [],
        answer: Route.Answer = .plain, limits: [String] = []
    ) {
        self.event = event
        self.subject = subject
        self.ackName = ackName
        self.answer = answer
        self.ackCopies = ackCopies
        self.limits = limits
    }

    public static func == (a: SocketEvent, b: SocketEvent) -> Bool {
        a.event == b.event && a.subject == b.subject && a.ackName == b.ackName && a.answer == b.answer
            && a.limits == b.limits
            && a.ackCopies.elementsEqual(b.ackCopies, by: ==)
    }
}

/// The fields that a service adds to a Room, a Message or a Person, as one person sees it.
///
/// The request is `{userId, roomIds}` for many rooms at once. The reply is `{rooms: [[value, …], …]}`: a list for each
/// room, in the order of `roomIds`, with a value for each field, in the order of `fields`. The list of an unknown room
/// is null. For messages and people, `roomIds` is `messageIds` or `personIds`, and `rooms` is `messages` or `people`
/// (`ShownObject`).
public struct Contribution: Sendable, Equatable {
    public enum Kind: String, Sendable {
        /// A value that is copied into the object unchanged.
        case value
        /// Milliseconds since 1970 or null. It is written in the format of the object's own times; null stays null.
        case time
        /// Milliseconds since 1970 or null. If this time is later than the Room's `updatedAt`, `updatedAt` becomes this
        /// time. Rooms only.
        case laterTime
    }

    /// A use of a field besides writing it into the Room.
    public enum Role: Sendable, Equatable {
        /// A member of the Room's `badges` with this name. A room with a badge above zero has something
        /// unread.
        case badge(String)
        /// A `time` of the last activity of a kind. If it is the latest of all, it becomes the room's last activity,
        /// with this type. Lists of rooms can be sorted by it, under the name `sort`.
        case activity(type: String, sort: String)
    }

    public struct Field: Sendable, Equatable {
        /// The member's path: `elementCount`, or `badges.elements` for a badge. It is unique among all
        /// services.
        public let path: String
        public let kind: Kind
        public let role: Role?
        /// The value in an object for which the service gives none: before its first reply, in a new room, and in an
        /// object that it does not know.
        public let zero: JSONValue

        public init(_ path: String, _ kind: Kind = .value, role: Role? = nil, zero: JSONValue) {
            self.path = path
            self.kind = kind
            self.role = role
            self.zero = zero
        }

        /// Returns the field of a badge with this name.
        public static func badge(_ name: String) -> Field {
            Field("badges.\(name)", role: .badge(name), zero: JSONValue(0))
        }
    }

    public let subject: String
    public let fields: [Field]

    public init(subject: String, fields: [Field]) {
        self.subject = subject
        self.fields = fields
    }
}

/// A limit for each person and each address. The gateway counts. A setting `RATE_<NAME>` overrides the numbers of
/// a gateway's own limits and of those of Parlor's services. `SERVICE_RATES` overrides those of plugins.
public struct RateLimit: Sendable, Equatable {
    public enum Counted: String, Sendable {
        case calls
        /// Calls that were refused because of their credentials.
        case failures
    }

    public let name: String
    public let counted: Counted
    public let perPerson: Int
    public let perAddress: Int
    public let seconds: Int
    /// True if its setting is the limit of an address alone: the calls have no caller.
    public let isOfAddresses: Bool
    /// What is counted, for the setting.
    public let help: String

    /// The limits that every gateway has for its own answers, and for routes and events that name no limit. A
    /// service's own limit with one of these names is ignored.
    public static let namesOfGateways: Set<String> = [
        "joins", "typing", "sync", "requests", "reads", "writes", "connects", "unknown", "lists", "bytes",
    ]

    /// The longest period: a year, as a longer limit would be a ban.
    package static let maxSeconds = 366 * 86_400

    /// - Parameters:
    ///   - isOfAddresses: true if its setting is the limit of an address alone. Like `help`, it is not in a manifest.
    public init(
        _ name: String, _ counted: Counted = .calls, perPerson: Int, perAddress: Int, seconds: Int,
        isOfAddresses: Bool = false, _ help: String = ""
    ) {
        self.name = name
        self.counted = counted
        self.perPerson = perPerson
        self.perAddress = perAddress
        self.seconds = seconds
        self.isOfAddresses = isOfAddresses
        self.help = help
    }

    /// The limits of Parlor's services. Gateways have a setting for each.
    public static let ofServices: [RateLimit] = ofRooms + ofMessaging + ofElements + ofPush + ofAccounts
}
