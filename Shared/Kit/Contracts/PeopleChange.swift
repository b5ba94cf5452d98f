import ParlorJSON

/// A change of a room's people, as keepers and gateways confirm it before it is answered (docs/membership.md).
public struct PeopleChange: Sendable, Equatable {
    /// A person who leaves. Their names are for what they wrote.
    public struct Leaver: Sendable, Equatable {
        public let userID: String
        public let username: String
        public let firstName: String?

        public init(userID: String, username: String, firstName: String?) {
            self.userID = userID
            self.username = username
            self.firstName = firstName
        }
    }

    public let roomID: String
    /// The version of the room's record with this change.
    public let version: Int
    public let joined: [String]
    public let left: [Leaver]
    /// True if nobody is left: the room and all that it has will be deleted.
    public let isLast: Bool
    /// The number of the last entry of Rooms' log when the change was stored; nil if that is not known.
    public let storedAfter: Int?

    public init(
        roomID: String, version: Int, joined: [String] = [], left: [Leaver] = [], isLast: Bool = false,
        storedAfter: Int? = nil
    ) {
        self.roomID = roomID
        self.version = version
        self.joined = joined
        self.left = left
        self.isLast = isLast
        self.storedAfter = storedAfter
    }

    public func write(to json: inout JSONWriter) {
        json.object {
            $0.member("roomId", roomID)
            $0.member("version", version)
            $0.member("joined", joined)
            $0.name("left")
            $0.array(of: left) { json, leaver in
                json.object {
                    $0.member("userId", leaver.userID)
                    $0.member("username", leaver.username)
                    $0.member("firstName", leaver.firstName)
                }
            }
            if isLast { $0.member("isLast", true) }
            if let storedAfter { $0.member("storedAfter", storedAfter) }
        }
    }

    public var json: JSONValue { JSONWriter.value { write(to: &$0) } }

    /// Parses the result of `write(to:)`; nil for anything else.
    public init?(_ json: JSONValue) {
        guard let object = json.object, let roomID = object["roomId"]?.string, let version = object["version"]?.int,
            let left = object["left"]?.list(of: { leaver -> Leaver? in
                guard let userID = leaver["userId"]?.string, let username = leaver["username"]?.string else {
                    return nil
                }
                return Leaver(userID: userID, username: username, firstName: leaver["firstName"]?.string)
            })
        else { return nil }
        self.init(
            roomID: roomID, version: version, joined: object["joined"]?.array?.compactMap(\.string) ?? [], left: left,
            isLast: object["isLast"]?.bool ?? false, storedAfter: object["storedAfter"]?.int)
    }
}
