import ParlorJSON

/// A message between gateways, on `gateways.*`.
struct PeerMessage: Sendable {
    enum Topic: String, CaseIterable, Sendable {
        case presence, typing, alive, hello, snapshot

        var subject: String { "gateways.\(rawValue)" }
    }

    enum Body: Equatable, Sendable {
        /// A person opened or closed a room there, or began or stopped typing.
        case change(number: Int, Presence.Entry, isOn: Bool)
        /// The gateway is alive, and its last publication has this number.
        case heartbeat(number: Int?)
        /// A request for a snapshot: of one gateway, or of all.
        case hello(to: String?)
        case snapshot(number: Int, SnapshotPart)
    }

    struct SnapshotPart: Equatable, Sendable {
        let isFirst: Bool
        let isLast: Bool
        let entries: [Presence.Entry]
    }

    let gateway: String
    /// The content; nil if it cannot be read. Such a message still shows that its gateway is alive.
    let body: Body?

    /// - Returns: nil if it names no gateway.
    init?(_ topic: Topic, _ data: JSONValue) {
        guard let object = data.object, let gateway = object["gateway"]?.string else { return nil }
        self.gateway = gateway
        let number = object["number"]?.int
        switch topic {
        case .alive: body = .heartbeat(number: number)
        case .hello: body = .hello(to: object["to"]?.string)
        case .snapshot: body = number.map { .snapshot(number: $0, Self.part(object)) }
        case .presence, .typing:
            guard let number, let member = RoomMember(object), let isOn = object["isOn"]?.bool else {
                body = nil
                return
            }
            let kind: Presence.Kind = topic == .presence ? .presence : .typing
            body = .change(number: number, Presence.Entry(kind: kind, member: member), isOn: isOn)
        }
    }

    private static func part(_ object: JSONObject) -> SnapshotPart {
        var entries: [Presence.Entry] = []
        for kind in Presence.Kind.allCases {
            for item in object[kind.rawValue]?.array ?? [] {
                guard let member = item.object.flatMap(RoomMember.init) else { continue }
                entries.append(Presence.Entry(kind: kind, member: member))
            }
        }
        return SnapshotPart(
            isFirst: object["part"]?.int == 0, isLast: object["isLast"]?.bool == true, entries: entries)
    }

    static func writeChange(_ member: RoomMember, isOn: Bool, to json: inout JSONWriter) {
        member.writeMembers(to: &json)
        json.member("isOn", isOn)
    }

    static func writePart(_ number: Int, isLast: Bool, _ entries: [Presence.Entry], to json: inout JSONWriter) {
        json.member("part", number)
        json.member("isLast", isLast)
        for kind in Presence.Kind.allCases {
            json.member(
                kind.rawValue,
                array: { json in
                    for entry in entries where entry.kind == kind {
                        json.object { entry.member.writeMembers(to: &$0) }
                    }
                })
        }
    }
}

extension RoomMember {
    init?(_ object: JSONObject) {
        guard let roomID = object["roomId"]?.string, let userID = object["userId"]?.string else { return nil }
        self.init(roomID: roomID, userID: userID)
    }

    func writeMembers(to json: inout JSONWriter) {
        json.member("roomId", roomID)
        json.member("userId", userID)
    }
}
