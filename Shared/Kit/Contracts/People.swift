import ParlorJSON

/// The sender of a request, as the gateway read it from a verified token. Its name may be older
/// than the person's current one.
public struct Caller: Sendable, Equatable {
    public let id: String
    public let username: String
    public let firstName: String?
    /// Written once by the gateway, as it goes with each request of a socket.
    private let written: JSONValue?

    public init(id: String, username: String, firstName: String?) {
        self.id = id
        self.username = username
        self.firstName = firstName
        written = Self.json(id, username, firstName)
    }

    public var json: JSONValue { written ?? Self.json(id, username, firstName) }

    private static func json(_ id: String, _ username: String, _ firstName: String?) -> JSONValue {
        JSONWriter.object(reservingCapacity: 128) {
            $0.member("id", id)
            $0.member("username", username)
            $0.member("firstName", firstName)
        }
    }

    /// Parses the result of `json`; nil for anything else.
    public init?(_ json: JSONValue) {
        guard let object = json.object, let id = object["id"]?.string, let username = object["username"]?.string else {
            return nil
        }
        (self.id, self.username, firstName) = (id, username, object["firstName"]?.string)
        written = nil
    }

    public static func == (a: Caller, b: Caller) -> Bool {
        (a.id, a.username, a.firstName) == (b.id, b.username, b.firstName)
    }
}

/// A person as others see them. `email` is nil if the caller may not see it.
public struct Person: Sendable, Equatable {
    public let id: String
    public let username: String
    public let firstName: String?
    public let email: String?

    public init(id: String, username: String, firstName: String?, email: String?) {
        self.id = id
        self.username = username
        self.firstName = firstName
        self.email = email
    }

    public var json: JSONValue { JSONWriter.object { write(to: &$0) } }

    public func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("username", username)
        json.member("firstName", firstName)
        json.member("email", email)
    }

    public static let schema = Schema.named(
        "Person",
        .object([
            "id": .id, "username": .string, "firstName": Schema.string.orNull,
            "email": Schema.string.orNull.noted("Null if there is none, or the caller may not see it."),
        ]))

    /// Parses the result of `json`; nil for anything else.
    public init?(_ json: JSONValue) {
        guard let object = json.object, let id = object["id"]?.string, let username = object["username"]?.string else {
            return nil
        }
        self.init(
            id: id, username: username, firstName: object["firstName"]?.string, email: object["email"]?.string)
    }
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
