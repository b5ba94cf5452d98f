import Contracts
import JSON

/// A Room as one person sees it, and what lists of rooms are sorted by.
struct ComposedRoom: Sendable {
    enum Sort: String, Sendable { case activity, messages, content }

    let id: String
    let json: JSONValue
    let participants: [String]
    let updatedAt: Int
    let messagesUpdatedAt: Int?

    private var lastActivity: Int { max(updatedAt, messagesUpdatedAt ?? .min) }

    /// Most recent first; of two equal ones the later made one first.
    static func sorted(_ rooms: [ComposedRoom], by sort: Sort) -> [ComposedRoom] {
        func key(_ room: ComposedRoom) -> Int {
            switch sort {
            case .activity: room.lastActivity
            case .messages: room.messagesUpdatedAt ?? .min
            case .content: room.updatedAt
            }
        }
        return rooms.sorted { (key($0), $0.id) > (key($1), $1.id) }
    }

    /// The list that `my-rooms` is.
    static func list(_ rooms: [ComposedRoom], by sort: Sort) -> JSONValue {
        JSONWriter.value(reservingCapacity: rooms.count * 1024) { json in
            json.array(of: sorted(rooms, by: sort)) { $0.value($1.json) }
        }
    }

    /// People with the rooms that the viewer shares with them, most recent activity first; rooms by `updatedAt`.
    static func groupedByPerson(_ rooms: [ComposedRoom], people: [JSONValue], viewer: String) -> JSONValue {
        var roomsOf: [String: [ComposedRoom]] = [:]
        for room in rooms {
            for person in room.participants where person != viewer { roomsOf[person, default: []].append(room) }
        }
        let groups = people.compactMap { person -> (json: JSONValue, rooms: [ComposedRoom], latest: Int, id: String)? in
            guard let id = person["id"]?.string, let rooms = roomsOf[id] else { return nil }
            return (person, sorted(rooms, by: .content), rooms.map(\.lastActivity).max() ?? .min, id)
        }.sorted { ($0.latest, $0.id) > ($1.latest, $1.id) }
        return JSONWriter.value(reservingCapacity: rooms.count * 1024) { json in
            json.array(of: groups) { json, group in
                json.object {
                    $0.members(of: group.json)
                    $0.member("rooms", array: { for room in group.rooms { $0.value(room.json) } })
                }
            }
        }
    }

    /// Writes a room from what the rooms service says of it, what other services add, and who has it open.
    ///
    /// - Parameters:
    ///   - unnamed: how the name of an unnamed room is written.
    ///   - contributed: each field and its value.
    /// - Returns: nil if `base` is no room.
    init?(
        base: JSONValue, contributed: [(field: Contribution.Field, value: JSONValue)], present: Set<String>,
        unnamed: JSONValue
    ) {
        guard let room = base.object, let id = room["id"]?.string, let createdAt = room["createdAt"]?.int,
            var updatedAt = room["updatedAt"]?.int, let listed = room["participants"]?.array
        else { return nil }
        let people = listed.compactMap(\.object)
        var times: [(path: String, at: Int?)] = []
        for (field, value) in contributed {
            switch field.kind {
            case .value: break
            case .time: times.append((field.path, value.int))
            case .laterTime: if field.path == "updatedAt" { updatedAt = max(updatedAt, value.int ?? .min) }
            }
        }
        let messagesUpdatedAt = times.first { $0.path == "messagesUpdatedAt" }?.at
        let lastMessage = messagesUpdatedAt ?? .min
        let badgePrefix = "badges."
        let badges = contributed.filter { $0.field.path.hasPrefix(badgePrefix) }
        self.id = id
        participants = people.compactMap { $0["userId"]?.string }
        self.updatedAt = updatedAt
        self.messagesUpdatedAt = messagesUpdatedAt
        json = JSONWriter.object(reservingCapacity: 1024) { json in
            json.member("id", id)
            json.member("name", room["name"].flatMap { $0.isNull ? nil : $0 } ?? unnamed)
            json.member("displayName", room["displayName"])
            json.member("createdBy", room["createdBy"])
            json.member("createdAt", Timestamp(milliseconds: createdAt).isoSeconds)
            json.member("updatedAt", Timestamp(milliseconds: updatedAt).isoSeconds)
            for time in times { json.member(time.path, time.at.map { Timestamp(milliseconds: $0).isoSeconds }) }
            json.member("lastActivityAt", Timestamp(milliseconds: max(updatedAt, lastMessage)).iso)
            json.member("lastActivityType", lastMessage > updatedAt ? "message" : "roomUpdate")
            json.member("isActive", !present.isEmpty)
            json.member("participants", array: { for person in people { Self.write(person, present, to: &$0) } })
            for (field, value) in contributed where field.kind == .value && !field.path.hasPrefix(badgePrefix) {
                json.member(field.path, value)
            }
            Self.write(badges.map { ($0.field.path.dropFirst(badgePrefix.count), $0.value) }, to: &json)
        }
    }

    /// `badges` and `hasUnread`.
    static func write(_ badges: [(name: Substring, count: JSONValue)], to json: inout JSONWriter) {
        json.member("badges", object: { for badge in badges { $0.member(String(badge.name), badge.count) } })
        json.member("hasUnread", badges.contains { ($0.count.int ?? 0) > 0 })
    }

    private static func write(_ person: JSONObject, _ present: Set<String>, to json: inout JSONWriter) {
        json.object {
            $0.member("userId", person["userId"])
            $0.member("username", person["username"])
            $0.member("firstName", person["firstName"])
            $0.member("joinedAt", Timestamp(milliseconds: person["joinedAt"]?.int ?? 0).isoSeconds)
            $0.member("isPresent", present.contains(person["userId"]?.string ?? ""))
        }
    }
}
