import JSON

/// An event for clients and its audience, ready to send.
public struct Emission: Sendable {
    public enum Audience: Sendable, Equatable {
        /// The sockets that joined the entry's room.
        case room
        /// Every connected socket, or the room's participants' as `GLOBAL_SCOPE` says.
        case everyone
        /// All sockets of one person.
        case person(String)
    }

    /// Fields that the gateway fills in before it sends, because only it can ask all services.
    public enum Composition: String, Sendable {
        /// The data, a room as the rooms service knows it, was made with this entry: it becomes `room`, with what others
        /// contribute to a new one.
        case room
        /// `data.badges` gets the badges that the emitting service doesn't own, and `data.hasUnread` follows.
        case badges
    }

    public let audience: Audience
    public let event: String
    public private(set) var data: JSONValue
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
        var emissions = self
        return emissions.write()
    }

    /// Writes the array, after the entry's fact if it has one. From then on the emissions' data lies in its bytes: gateways keep
    /// thousands of both.
    public mutating func write(after fact: Fact? = nil) -> JSONValue {
        // As many bytes as it takes, roughly.
        let capacity = reduce(fact == nil ? 2 : Fact.maxBytes) { $0 + $1.data.bytes.count + 128 }
        return withUnsafeTemporaryAllocation(of: Int.self, capacity: count) { ends in
            let bytes = JSONWriter.bytes(reservingCapacity: capacity) { json in
                json.array { json in
                    fact?.write(to: &json)
                    // Not `enumerated()`, which allocates for each.
                    for index in indices {
                        self[index].write(to: &json)
                        // `data` is the last member: only the brace comes after it.
                        ends.initializeElement(at: index, to: json.bytes.count - 1)
                    }
                }
            }
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
