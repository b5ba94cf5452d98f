import JSON

/// The messages between gateways, on `gateways.*`.
struct PeerMessage: Sendable {
    enum Topic: String, CaseIterable, Sendable {
        case presence, typing, alive, hello, snapshot

        var subject: String { "gateways.\(rawValue)" }
    }

    enum Body: Equatable, Sendable {
        /// A person came or went there, began or stopped typing.
        case change(number: Int, Presence.Entry, isOn: Bool)
        /// The gateway is alive, and numbered its last publication so.
        case heartbeat(number: Int?)
        /// Asks for a snapshot: one gateway, or all.
        case hello(to: String?)
        case snapshot(number: Int, SnapshotPart)
    }

    struct SnapshotPart: Equatable, Sendable {
        let isFirst: Bool
        let isLast: Bool
        let entries: [Presence.Entry]
    }

    let gateway: String
    /// nil if it cannot be read: its gateway is alive.
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
