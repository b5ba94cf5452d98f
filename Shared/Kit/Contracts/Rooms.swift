import ParlorJSON

// What gateways and other services know of Rooms.

extension Subject {
    /// The participants of a room: `{roomId}`. The reply does not depend on the caller.
    public static let membership = "rooms.membership"
    /// The ids of the people who share a room with a person, in pages.
    public static let partners = "rooms.partners"
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
}

extension RateLimit {
    public static let ofRooms = [
        RateLimit("rooms", perPerson: 60, perAddress: 600, seconds: 60, "Rooms created or renamed")
    ]
}

extension ErrorCode {
    public static let roomNotFound = ErrorCode("room_not_found", 404)

    static let ofRooms = [roomNotFound]
}

extension ServiceError {
    /// The error both for a room that does not exist and for one that the caller is not in, so that a caller
    /// cannot probe for rooms.
    public static let roomNotFound = ServiceError(.roomNotFound, "There is no such room.")
}

/// A person in a room.
public struct Participant: Sendable, Equatable {
    public let userID: String
    public let username: String
    public let firstName: String?
    public let joinedAt: Timestamp

    public init(userID: String, username: String, firstName: String?, joinedAt: Timestamp) {
        self.userID = userID
        self.username = username
        self.firstName = firstName
        self.joinedAt = joinedAt
    }

    /// Writes the participant with a time in milliseconds, as services use it. Gateways write it for clients,
    /// with `isPresent`, which only they know.
    public func write(to json: inout JSONWriter) {
        json.object {
            $0.member("userId", userID)
            $0.member("username", username)
            $0.member("firstName", firstName)
            $0.member("joinedAt", joinedAt.milliseconds)
        }
    }

    /// Parses the result of `write(to:)`; nil for anything else.
    public init?(_ json: JSONValue) {
        guard let object = json.object, let userID = object["userId"]?.string,
            let username = object["username"]?.string, let joinedAt = object["joinedAt"]?.int
        else { return nil }
        self.init(
            userID: userID, username: username, firstName: object["firstName"]?.string,
            joinedAt: Timestamp(milliseconds: joinedAt))
    }
}

/// A room's participants, the creator first. They never change: the contract has no way to enter or
/// leave a room for good.
public struct Membership: Sendable, Equatable {
    public let roomID: String
    public let participants: [Participant]

    public init(roomID: String, participants: [Participant]) {
        self.roomID = roomID
        self.participants = participants
    }

    public var userIDs: [String] { participants.map(\.userID) }

    public func participant(_ userID: String) -> Participant? { participants.first { $0.userID == userID } }

    public func write(to json: inout JSONWriter) {
        json.object {
            $0.member("roomId", roomID)
            $0.member("participants", array: { for participant in participants { participant.write(to: &$0) } })
        }
    }

    public var json: JSONValue { JSONWriter.value { write(to: &$0) } }

    /// Parses the result of `json`; nil for anything else.
    public init?(_ json: JSONValue) {
        guard let object = json.object, let roomID = object["roomId"]?.string,
            let participants = object["participants"]?.list(of: Participant.init)
        else { return nil }
        self.init(roomID: roomID, participants: participants)
    }
}
