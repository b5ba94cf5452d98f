import JSON

/// Something to be told to clients: an event and whom it is for, ready to send.
public struct Emission: Sendable {
    public enum Audience: Sendable, Equatable {
        /// The sockets that joined the entry's room.
        case room
        /// Every connected socket, or the room's participants' as `GLOBAL_SCOPE` says.
        case everyone
        /// All sockets of one person.
        case person(String)
    }

    /// What a gateway fills in before it sends, because only it can ask all services.
    public enum Composition: String, Sendable {
        /// The data, a room as the rooms service knows it, was made with this entry: it becomes `room`, with what others
        /// contribute to a new one.
        case room
        /// `data.badges` gets the badges that the emitting service doesn't own, and `data.hasUnread` follows.
        case badges
    }

    public let audience: Audience
    public let event: String
    public let data: JSONValue
    public let composition: Composition?
    /// The person whose typing in this room this event ends: the one who sent what they typed.
    public let endsTypingOf: String?

    public init(
        to audience: Audience, _ event: String, _ data: JSONValue, composition: Composition? = nil,
        endsTypingOf: String? = nil
    ) {
        self.audience = audience
        self.event = event
        self.data = data
        self.composition = composition
        self.endsTypingOf = endsTypingOf
    }

    public func write(to json: inout JSONWriter) {
        json.object {
            switch audience {
            case .room: $0.member("to", "room")
            case .everyone: $0.member("to", "everyone")
            case .person(let id):
                $0.member("to", "person")
                $0.member("person", id)
            }
            $0.member("event", event)
            if let composition { $0.member("compose", composition.rawValue) }
            if let endsTypingOf { $0.member("endsTyping", endsTypingOf) }
            $0.member("data", data)
        }
    }

    /// nil if it is not what `write(to:)` writes; also for a composition that only a newer service knows.
    public init?(_ json: JSONValue) {
        guard let object = json.object, let event = object["event"]?.string, let data = object["data"] else {
            return nil
        }
        let audience: Audience
        switch object["to"]?.string {
        case "room": audience = .room
        case "everyone": audience = .everyone
        case "person":
            guard let id = object["person"]?.string else { return nil }
            audience = .person(id)
        default: return nil
        }
        let composition = object["compose"].map { $0.string.flatMap(Composition.init) }
        if case .some(.none) = composition { return nil }
        self.init(
            to: audience, event, data, composition: composition ?? nil, endsTypingOf: object["endsTyping"]?.string)
    }
}

extension [Emission] {
    public var json: JSONValue {
        // As many bytes as it takes, roughly: gateways remember thousands of these.
        JSONWriter.value(reservingCapacity: reduce(2) { $0 + $1.data.bytes.count + 128 }) { json in
            json.array { for emission in self { emission.write(to: &$0) } }
        }
    }
}

/// An entry of a service's event log, as it travels.
public struct StreamEntry: Sendable {
    public let seq: Int
    public let at: Timestamp
    public let roomID: String
    public let participants: [String]
    /// The emissions as they were written; `emissions` takes them apart.
    public let emissionsJSON: JSONValue
    /// Of the request that made the change, for logs; nil if none did.
    public let requestID: String?

    public init(
        seq: Int, at: Timestamp, roomID: String, participants: [String], emissionsJSON: JSONValue,
        requestID: String? = nil
    ) {
        self.seq = seq
        self.at = at
        self.roomID = roomID
        self.participants = participants
        self.emissionsJSON = emissionsJSON
        self.requestID = requestID
    }

    /// Emissions that a newer service wrote in a way unknown here are left out.
    public var emissions: [Emission] { emissionsJSON.array?.compactMap(Emission.init) ?? [] }

    public func write(to json: inout JSONWriter) {
        json.object {
            $0.member("seq", seq)
            $0.member("at", at.milliseconds)
            $0.member("roomId", roomID)
            if let requestID { $0.member("request", requestID) }
            $0.member("participants", array: { for id in participants { $0.string(id) } })
            $0.member("emissions", emissionsJSON)
        }
    }

    public var json: JSONValue {
        JSONWriter.value(reservingCapacity: emissionsJSON.bytes.count + 256) { write(to: &$0) }
    }

    /// nil if it is not what `json` writes.
    public init?(_ json: JSONValue) {
        guard let object = json.object, let seq = object["seq"]?.int, let at = object["at"]?.int,
            let roomID = object["roomId"]?.string, let participants = object["participants"]?.array,
            let emissions = object["emissions"], emissions.kind == .array
        else { return nil }
        let ids = participants.compactMap(\.string)
        guard ids.count == participants.count else { return nil }
        self.init(
            seq: seq, at: Timestamp(milliseconds: at), roomID: roomID, participants: ids, emissionsJSON: emissions,
            requestID: object["request"]?.string)
    }
}

/// Subjects that every service has, by its name.
public enum Subject {
    /// A service says what it offers: when it starts, when the bus is back, and when it is asked to. The subject names the service,
    /// so that a bus can see to it that nobody announces another's.
    public static func announce(of service: String) -> String { "services.announce.\(service)" }
    /// All of these.
    public static let announcements = "services.announce.*"
    /// A gateway asks every service to announce itself.
    public static let discover = "services.discover"
    /// Everyone on the bus is asked how they are; each part answers with a `StatusReport` on `status`.
    public static let statusWanted = "status.wanted"
    public static let status = "status.told"
    /// A gateway is alive: every 800 ms, with its id.
    public static let gatewayAlive = "gateways.alive"
    /// Asks a gateway whose sockets have rooms open there: an `OpenRoomQuestion`.
    public static func openRooms(of gateway: String) -> String { "gateways.\(gateway).open" }
    /// Asks for the ids of the caller's rooms, in pages.
    public static let roomIDs = "rooms.ids"
    /// Asks for the caller's rooms, in pages, as the rooms service knows them.
    public static let rooms = "rooms.list"
    /// Asks for a room as the rooms service knows it: `{roomId}`, as the person who is the request's caller.
    public static let room = "rooms.get"

    /// Entries of a service's event log, as they are committed.
    public static func events(of service: String) -> String { "\(service).log" }
    /// Asks for entries: `{since, digest?, through?, roomIds?, limit?}` → `{head, oldest, isKnown, entries, through}`, as
    /// `LogPage` says.
    public static func eventsSince(of service: String) -> String { "\(service).events" }
    /// Asks one instance whether it works.
    public static func health(of service: String) -> String { "\(service).health" }
}
