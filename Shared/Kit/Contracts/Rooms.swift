import ParlorJSON

// What gateways and other services know of Rooms.

extension Subject {
    /// The record of a room: `{roomId, keeper?, atLeast?}`. The reply does not depend on the caller. Who names itself as
    /// `keeper` may cache the record, and serves `fence(of:)`.
    public static let membership = "rooms.membership"
    /// Returns the subject on which a keeper of records confirms changes of rooms' people: a `PeopleChange`.
    public static func fence(of keeper: String) -> String { "\(keeper).fence" }
    /// Returns the subject on which a gateway confirms them.
    public static func gatewayFence(of gateway: String) -> String { "gateways.\(gateway).fence" }
    /// A message of Rooms to itself, which shows that it has received all that the bus had for it.
    public static let roomsProbe = "rooms.probe"
    /// The changes of rooms' people that are not complete: `PeopleChange`s in pages, for a gateway that may have missed some.
    public static let pendingChanges = "rooms.pending"
    /// The ids of the people who share a room with a person, in pages. Only Accounts of 0.2 requests it.
    public static let partners = "rooms.partners"
    /// Those of some people who share a room with a person: `{userId, among}`.
    public static let roommates = "rooms.roommates"
    /// The rooms that two people share, in pages.
    public static let sharedRooms = "rooms.shared"
    /// The names of rooms.
    public static let roomNames = "rooms.names"
    /// The ids of the caller's rooms, in pages.
    public static let roomIDs = "rooms.ids"
    /// The caller's rooms, in pages, as the rooms service knows them.
    public static let rooms = "rooms.list"
    /// A room as the rooms service knows it: `{roomId}`, on behalf of the request's caller.
    public static let room = "rooms.get"
}

extension Fact {
    /// The entry's room was created.
    public static let roomCreated = Fact("roomCreated")
    /// The entry's room was renamed.
    public static let roomRenamed = Fact("roomRenamed")
    /// The entry's room is gone, as its last participants left.
    public static func roomDeleted(_ change: PeopleChange) -> Fact { people("roomDeleted", change) }
    /// People have come to the entry's room, or left it.
    public static func peopleChanged(_ change: PeopleChange) -> Fact { people("peopleChanged", change) }

    private static func people(_ kind: String, _ change: PeopleChange) -> Fact {
        Fact(kind) {
            $0.member("version", change.version)
            $0.member("joined", change.joined)
            $0.member("left", change.left.lazy.map(\.userID))
        }
    }

    /// The change of people of either fact.
    public var peopleChanged: (version: Int, joined: [String], left: [String])? {
        guard kind == "peopleChanged" || kind == "roomDeleted", let version = payload["version"]?.int else {
            return nil
        }
        let ids = ["joined", "left"].map { payload[$0]?.array?.compactMap(\.string) ?? [] }
        return (version, ids[0], ids[1])
    }
}

extension RateLimit {
    public static let ofRooms = [
        RateLimit(
            "rooms", perPerson: 60, perAddress: 600, seconds: 60, "Rooms created or renamed, changes of their people")
    ]
}

extension ErrorCode {
    public static let roomNotFound = ErrorCode("room_not_found", 404)
    /// What only groups can.
    public static let directRoom = ErrorCode("direct_room", 409)

    static let ofRooms = [roomNotFound, directRoom]
}

extension ServiceError {
    /// The error both for a room that does not exist and for one that the caller is not in, so that a caller
    /// cannot probe for rooms.
    public static let roomNotFound = ServiceError(.roomNotFound, "There is no such room.")
}

/// What a person may do in a room.
public enum RoomRole: String, Sendable {
    case owner, member
}

/// Whether a room is between two people who never change, or a group whose people come and go.
public enum RoomKind: String, Sendable {
    case direct, group
}

/// A person in a room.
public struct Participant: Sendable, Equatable {
    public let userID: String
    public let username: String
    public let firstName: String?
    public let joinedAt: Timestamp
    public let role: RoomRole

    public init(
        userID: String, username: String, firstName: String?, joinedAt: Timestamp, role: RoomRole = .member
    ) {
        self.userID = userID
        self.username = username
        self.firstName = firstName
        self.joinedAt = joinedAt
        self.role = role
    }

    /// Writes the participant with a time in milliseconds, as services use it. Gateways write it for clients,
    /// with `isPresent`, which only they know.
    public func write(to json: inout JSONWriter) {
        json.object {
            $0.member("userId", userID)
            $0.member("username", username)
            $0.member("firstName", firstName)
            $0.member("joinedAt", joinedAt.milliseconds)
            $0.member("role", role.rawValue)
        }
    }

    /// Parses the result of `write(to:)`; nil for anything else.
    public init?(_ json: JSONValue) {
        guard let object = json.object, let userID = object["userId"]?.string,
            let username = object["username"]?.string, let joinedAt = object["joinedAt"]?.int
        else { return nil }
        self.init(
            userID: userID, username: username, firstName: object["firstName"]?.string,
            joinedAt: Timestamp(milliseconds: joinedAt),
            // A rooms service of the version before names none.
            role: object["role"]?.string.flatMap(RoomRole.init) ?? .member)
    }
}

/// A room's record: its people, in the order in which they came, and what they may do. Rooms owns it; others keep it as
/// long as their fence allows (docs/membership.md).
public struct Membership: Sendable, Equatable {
    public let roomID: String
    /// Rises with each change of the record, from 1.
    public let version: Int
    public let kind: RoomKind
    /// True if nobody may write in the room any more.
    public let isClosed: Bool
    public let participants: [Participant]
    /// The participants' ids: one list for all entries of the room's log.
    public let userIDs: [String]

    public init(
        roomID: String, version: Int = 1, kind: RoomKind = .direct, isClosed: Bool = false, participants: [Participant]
    ) {
        self.roomID = roomID
        self.version = version
        self.kind = kind
        self.isClosed = isClosed
        self.participants = participants
        userIDs = participants.map(\.userID)
    }

    public func participant(_ userID: String) -> Participant? { participants.first { $0.userID == userID } }

    public func write(to json: inout JSONWriter) {
        json.object {
            $0.member("roomId", roomID)
            $0.member("version", version)
            $0.member("kind", kind.rawValue)
            $0.member("isClosed", isClosed)
            $0.member("participants", array: { for participant in participants { participant.write(to: &$0) } })
        }
    }

    public var json: JSONValue { JSONWriter.value { write(to: &$0) } }

    /// Parses the result of `json`; nil for anything else.
    public init?(_ json: JSONValue) {
        guard let object = json.object, let roomID = object["roomId"]?.string,
            let participants = object["participants"]?.list(of: Participant.init)
        else { return nil }
        // A rooms service of the version before has rooms of two people who never change.
        self.init(
            roomID: roomID, version: object["version"]?.int ?? 1,
            kind: object["kind"]?.string.flatMap(RoomKind.init) ?? .direct,
            isClosed: object["isClosed"]?.bool ?? false, participants: participants)
    }
}
