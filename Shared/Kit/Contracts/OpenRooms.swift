import ParlorJSON

/// The request at `Subject.openRooms(of:)`. For each given room and person it asks two things: which of the person's
/// sockets have the room open on this gateway, and which entries of the log each of these sockets certainly has.
public struct OpenRoomsRequest: Sendable, Equatable {
    public struct Member: Sendable, Hashable {
        public let roomID: String
        public let userID: String

        public init(roomID: String, userID: String) {
            self.roomID = roomID
            self.userID = userID
        }
    }

    /// The limit of sockets in a reply, for one person in one room on one event loop.
    public static let maxSockets = 16

    /// Any log of the service. For each room, the log with its entries counts.
    public let log: LogID
    public let members: [Member]

    public init(log: LogID, members: [Member]) {
        self.log = log
        self.members = members
    }

    public var json: JSONValue {
        JSONWriter.object(reservingCapacity: 128 * members.count + 64) {
            $0.member("stream", log.name)
            $0.name("rooms")
            $0.array(of: members) { json, member in
                json.object {
                    $0.member("roomId", member.roomID)
                    $0.member("userId", member.userID)
                }
            }
        }
    }

    /// Parses the result of `json`; nil for anything else.
    public init?(_ json: JSONValue) {
        guard let object = json.object, let log = object["stream"]?.string.flatMap(LogID.init(name:)),
            let members = object["rooms"]?.list(of: { room -> Member? in
                guard let roomID = room["roomId"]?.string, let userID = room["userId"]?.string else { return nil }
                return Member(roomID: roomID, userID: userID)
            })
        else { return nil }
        self.init(log: log, members: members)
    }

    /// Encodes a reply: for each member, in order, its sockets.
    public static func reply(_ sockets: [[SocketEvidence]]) -> JSONValue {
        JSONWriter.value(reservingCapacity: 32 * sockets.count + 16) { json in
            json.array(of: sockets) { json, sockets in
                json.array(of: sockets) { json, socket in
                    json.array {
                        $0.number(socket.age)
                        $0.number(socket.confirmed)
                    }
                }
            }
        }
    }

    /// Parses a reply; nil if it does not answer this request.
    public func sockets(in reply: JSONValue) -> [[SocketEvidence]]? {
        guard let rooms = reply.array, rooms.count == members.count else { return nil }
        return rooms.map { $0.array?.compactMap(SocketEvidence.init) ?? [] }
    }
}

/// A gateway's information about a socket that has a room open.
public struct SocketEvidence: Sendable, Equatable {
    /// The milliseconds since its last activity: it answered a ping, connected or sent something.
    public let age: Int
    /// The last entry of the log that the socket certainly has, by its number among the entries of all logs: it answered a
    /// ping that was sent after that entry.
    public let confirmed: Int

    public init(age: Int, confirmed: Int) {
        self.age = age
        self.confirmed = confirmed
    }

    init?(_ json: JSONValue) {
        guard let values = json.array, values.count == 2, let age = values[0].int, let confirmed = values[1].int else {
            return nil
        }
        self.init(age: age, confirmed: confirmed)
    }
}
