import ParlorContracts
import ParlorJSON

/// A Room as one person sees it, with the values by which lists of rooms are sorted.
package struct ComposedRoom: Sendable {
    package let id: String
    let updatedAt: Int
    /// The last time of each kind of activity, in the order of `RoomFields.activities`.
    let activityTimes: [Int?]
    /// The JSON to send. It is written when the room is composed, so that a long list does not keep the parts of
    /// all rooms.
    package let json: JSONValue

    /// Composes a room from the rooms service's data, other services' fields, and presence.
    ///
    /// - Parameters:
    ///   - values: the services' values, in the order of `fields`.
    ///   - unnamed: the name of a room without one.
    /// - Returns: nil if `base` is not a room.
    init?(base: JSONObject?, _ fields: RoomFields, values: [JSONValue], present: Set<String>, unnamed: JSONValue) {
        guard let room = base, let id = room["id"]?.string, let createdAt = room["createdAt"]?.int,
            let updatedAt = room["updatedAt"]?.int, let people = room["participants"]?.array
        else { return nil }
        let parts = Parts(
            base: room, people: people, createdAt: createdAt,
            updatedAt: fields.updates.reduce(updatedAt) { max($0, values[$1].int ?? .min) },
            activityTimes: fields.activities.map { values[$0.index].int }, fields: fields, values: values,
            present: present, unnamed: unnamed)
        self.id = id
        self.updatedAt = parts.updatedAt
        activityTimes = parts.activityTimes
        json = JSONWriter.value(reservingCapacity: 1024) { parts.write(to: &$0) }
    }

    private var lastActivity: Int { activityTimes.reduce(updatedAt) { max($0, $1 ?? .min) } }

    // MARK: Lists

    static func sorted(_ rooms: [ComposedRoom], by order: RoomOrder) -> [ComposedRoom] {
        let keyed = rooms.enumerated().map { (key: $1.key(by: order), index: $0) }
        return keyed.sorted { $0.key < $1.key }.map { rooms[$0.index] }
    }

    func key(by order: RoomOrder) -> SortKey {
        let time =
            switch order {
            case .activity: lastActivity
            case .content: updatedAt
            case .time(let index): index.flatMap { activityTimes[$0] } ?? .min
            }
        return SortKey(time: time, id: id)
    }

    /// Writes rooms, the most recently active first.
    package static func write(_ rooms: [ComposedRoom], to json: inout JSONWriter) {
        json.array(of: sorted(rooms, by: .activity)) { $0.value($1.json) }
    }

    /// Returns people with the rooms that the viewer shares with them, the most recently active person first. A
    /// person's rooms are sorted by `updatedAt`.
    static func groupedByPerson(_ rooms: [ComposedRoom], people: [JSONValue], viewer: String) -> JSONValue {
        var roomsOf: [String: [ComposedRoom]] = [:]
        for room in rooms {
            for participant in room.json["participants"]?.array ?? [] {
                guard let person = participant["userId"]?.string, person != viewer else { continue }
                roomsOf[person, default: []].append(room)
            }
        }
        // A person occurs in each page of the list that has a room with them.
        var seen: Set<String> = []
        let groups = people.compactMap { person -> (json: JSONValue, rooms: [ComposedRoom], key: SortKey)? in
            guard let id = person["id"]?.string, let rooms = roomsOf[id], seen.insert(id).inserted else { return nil }
            let key = SortKey(time: rooms.map(\.lastActivity).max() ?? .min, id: id)
            return (person, sorted(rooms, by: .content), key)
        }.sorted { $0.key < $1.key }
        return JSONWriter.value(reservingCapacity: rooms.count * 1024) { json in
            json.array(of: groups) { json, group in
                json.object {
                    $0.members(of: group.json)
                    $0.member("rooms", array: { for room in group.rooms { $0.value(room.json) } })
                }
            }
        }
    }

    // MARK: Participants

    // A rooms service of an earlier version names neither this nor the roles of participants.
    fileprivate static let direct = JSONValue(RoomKind.direct.rawValue)

    /// Returns participants with their presence, from the form in which the rooms service knows them (`Participant.write`).
    /// Their bytes are copied, but for the times: in a list of groups, participants are most of the work.
    ///
    /// - Parameter haveRoles: false if they are from a rooms service of an earlier version.
    static func participants(_ people: [JSONValue], haveRoles: Bool = true, present: Set<String>) -> JSONValue {
        var json: [UInt8] = []
        json.reserveCapacity(people.reduce(2) { $0 + $1.bytes.count + 64 })
        var last = (time: Int.min, text: "")
        for person in people {
            guard let joinedAt = person["joinedAt"], let time = joinedAt.int else { continue }
            if time != last.time { last = (time, "\"\(Timestamp(milliseconds: time).isoSeconds)\"") }
            let isPresent = !present.isEmpty && present.contains(person["userId"]?.string ?? "")
            json.append(UInt8(ascii: json.isEmpty ? "[" : ","))
            json += person.bytes[..<joinedAt.bytes.startIndex]
            json += last.text.utf8
            json += person.bytes[joinedAt.bytes.endIndex..<person.bytes.endIndex - 1]
            if !haveRoles { json += #","role":"member""#.utf8 }
            json += (isPresent ? #","isPresent":true}"# : #","isPresent":false}"#).utf8
        }
        if json.isEmpty { return .emptyArray }
        json.append(UInt8(ascii: "]"))
        return JSONValue(trusted: json)
    }

    // MARK: Badges

    /// Writes `badges` and `hasUnread`.
    static func write(_ badges: some Sequence<(name: String, count: JSONValue)>, to json: inout JSONWriter) {
        var hasUnread = false
        json.member(
            "badges",
            object: {
                for badge in badges {
                    $0.member(badge.name, badge.count)
                    if badge.count.int ?? 0 > 0 { hasUnread = true }
                }
            })
        json.member("hasUnread", hasUnread)
    }
}

/// The parts from which a Room is written.
private struct Parts {
    let base: JSONObject
    let people: [JSONValue]
    let createdAt: Int
    let updatedAt: Int
    let activityTimes: [Int?]
    let fields: RoomFields
    let values: [JSONValue]
    let present: Set<String>
    let unnamed: JSONValue

    func write(to json: inout JSONWriter) {
        var last = (time: updatedAt, type: "roomUpdate")
        for (activity, time) in zip(fields.activities, activityTimes) {
            if let time, time > last.time { last = (time, activity.type) }
        }
        json.object { json in
            json.member("id", base["id"])
            json.member("kind", base["kind"] ?? ComposedRoom.direct)
            json.member("name", base["name"].flatMap { $0.isNull ? nil : $0 } ?? unnamed)
            json.member("displayName", base["displayName"])
            json.member("createdBy", base["createdBy"])
            json.member("createdAt", Timestamp(milliseconds: createdAt).isoSeconds)
            json.member("updatedAt", Timestamp(milliseconds: updatedAt).isoSeconds)
            for time in fields.times {
                json.member(time.name, values[time.index].int.map { Timestamp(milliseconds: $0).isoSeconds })
            }
            json.member("lastActivityAt", Timestamp(milliseconds: last.time).iso)
            json.member("lastActivityType", last.type)
            json.member("isActive", !present.isEmpty)
            json.member("participantCount", base["participantCount"] ?? JSONValue(people.count))
            json.member(
                "participants",
                ComposedRoom.participants(people, haveRoles: base["kind"] != nil, present: present))
            for field in fields.values { json.member(field.name, values[field.index]) }
            ComposedRoom.write(fields.badges.lazy.map { ($0.name, values[$0.index]) }, to: &json)
        }
    }
}
