import ParlorJSON

/// An event for clients and its audience, ready to send.
public struct Emission: Sendable {
    public enum Audience: Sendable, Equatable {
        /// The sockets that joined the entry's room, of the entry's participants.
        case room
        /// Every connected socket, or those of the room's participants, depending on `GLOBAL_SCOPE`.
        case everyone
        /// The sockets of one person.
        case person(String)
    }

    /// The fields that the gateway fills in before it sends, because only it can request them from all
    /// services.
    public enum Composition: String, Sendable {
        /// `data` is a room that was created with this entry, as the rooms service knows it. The
        /// gateway adds the other services' fields for a new room, and sends the result as the
        /// member `room`.
        case room
        /// `data` is a room that the event's person has come to, as the rooms service knows it. The gateway adds the other
        /// services' fields as that person sees them, and sends the result as the member `room`.
        case joinedRoom
        /// `data.badges` gets the badges that the emitting service does not own, and `data.hasUnread` follows
        /// from all of them.
        case badges
    }

    public let audience: Audience
    public let event: String
    public private(set) var data: JSONValue
    public let composition: Composition?
    /// The person whose typing in this room ends with this event: the sender of the typed message.
    public let endsTypingOf: String?
    /// True if the event of a room concerns the entry's participants alone. Otherwise who has come to the room since gets
    /// it, too, when they catch up.
    public let isNarrow: Bool

    public init(
        to audience: Audience, _ event: String, _ data: JSONValue, composition: Composition? = nil,
        endsTypingOf: String? = nil, isNarrow: Bool = false
    ) {
        self.isNarrow = isNarrow
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
            if isNarrow { $0.member("narrow", true) }
            $0.member("data", data)
        }
    }

    /// Parses the result of `write(to:)`; nil for anything else, and for a composition that only a newer
    /// service knows.
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
            to: audience, event, data, composition: composition ?? nil, endsTypingOf: object["endsTyping"]?.string,
            isNarrow: object["narrow"]?.bool ?? false)
    }
}

extension [Emission] {
    public var json: JSONValue {
        var (emissions, fact) = (self, Fact?.none)
        return emissions.write(after: &fact)
    }

    /// Writes the entry's array: its fact first, if there is one, then the emissions. From then on
    /// the fact and each emission's data are slices of the array's bytes. So a gateway, which buffers
    /// thousands of entries, holds the bytes of each entry once.
    public mutating func write(after fact: inout Fact?) -> JSONValue {
        // Approximately the required number of bytes.
        let capacity = reduce(2 + (fact?.payload.bytes.count ?? 0)) { $0 + $1.data.bytes.count + 128 }
        return withUnsafeTemporaryAllocation(of: Int.self, capacity: count) { ends in
            let bytes = JSONWriter.bytes(reservingCapacity: capacity) { json in
                json.array { json in
                    if let fact { json.value(fact.payload) }
                    // Not `enumerated()`, which allocates for each element.
                    for index in indices {
                        self[index].write(to: &json)
                        // `data` is the last member: only the brace comes after it.
                        ends.initializeElement(at: index, to: json.bytes.count - 1)
                    }
                }
            }
            fact?.movePayload(into: bytes)
            for index in indices { self[index].moveData(into: bytes, endingAt: ends[index]) }
            return JSONValue(trusted: bytes)
        }
    }
}

extension Emission {
    fileprivate mutating func moveData(into bytes: [UInt8], endingAt end: Int) {
        data = JSONValue(trusted: bytes[end - data.bytes.count..<end])
    }
}
