import Contracts
import JSON

/// A Room as one person sees it, and what lists of rooms are sorted by.
struct ComposedRoom: Sendable {
    enum Sort: String, CaseIterable, Sendable { case activity, messages, content }

    let id: String
    let updatedAt: Int
    let messagesUpdatedAt: Int?
    let participants: [String]
    /// As it is sent. Written when the room is made: those of a long list are made one after the other.
    let json: JSONValue

    /// A room from what the rooms service says of it, what other services add, and who has it open.
    ///
    /// - Parameters:
    ///   - values: what services add, in the order of `fields`.
    ///   - unnamed: how the name of an unnamed room is written.
    /// - Returns: nil if `base` is no room.
    init?(base: JSONValue, _ fields: RoomFields, values: [JSONValue], present: Set<String>, unnamed: JSONValue) {
        guard let room = base.object, let id = room["id"]?.string, let createdAt = room["createdAt"]?.int,
            let updatedAt = room["updatedAt"]?.int, let people = room["participants"]?.array
        else { return nil }
        let parts = Parts(
            base: room, people: people.compactMap(\.object), createdAt: createdAt,
            updatedAt: fields.updates.reduce(updatedAt) { max($0, values[$1].int ?? .min) },
            messagesUpdatedAt: fields.messagesUpdatedAt.flatMap { values[$0].int }, fields: fields, values: values,
            present: present, unnamed: unnamed)
        self.id = id
        self.updatedAt = parts.updatedAt
        messagesUpdatedAt = parts.messagesUpdatedAt
        participants = parts.people.compactMap { $0["userId"]?.string }
        json = JSONWriter.value(reservingCapacity: 1024) { parts.write(to: &$0) }
    }

    private var lastActivity: Int { max(updatedAt, messagesUpdatedAt ?? .min) }

    // MARK: Lists

    static func sorted(_ rooms: [ComposedRoom], by sort: Sort) -> [ComposedRoom] {
        let placed = rooms.enumerated().map { (place: $1.place(by: sort), index: $0) }
        return placed.sorted { $0.place < $1.place }.map { rooms[$0.index] }
    }

    func place(by sort: Sort) -> ListPlace {
        let time =
            switch sort {
            case .activity: lastActivity
            case .messages: messagesUpdatedAt ?? .min
            case .content: updatedAt
            }
        return ListPlace(time: time, id: id)
    }

    /// Writes rooms in their order.
    static func write(_ rooms: [ComposedRoom], by sort: Sort, to json: inout JSONWriter) {
        json.array(of: sorted(rooms, by: sort)) { $0.value($1.json) }
    }

    /// People with the rooms that the viewer shares with them, most recent activity first; rooms by `updatedAt`.
    static func groupedByPerson(_ rooms: [ComposedRoom], people: [JSONValue], viewer: String) -> JSONValue {
        var roomsOf: [String: [ComposedRoom]] = [:]
        for room in rooms {
            for person in room.participants where person != viewer { roomsOf[person, default: []].append(room) }
        }
        // A person stands in each page of the list that has a room with them.
        var seen: Set<String> = []
        let groups = people.compactMap { person -> (json: JSONValue, rooms: [ComposedRoom], place: ListPlace)? in
            guard let id = person["id"]?.string, let rooms = roomsOf[id], seen.insert(id).inserted else { return nil }
            let place = ListPlace(time: rooms.map(\.lastActivity).max() ?? .min, id: id)
            return (person, sorted(rooms, by: .content), place)
        }.sorted { $0.place < $1.place }
        return JSONWriter.value(reservingCapacity: rooms.count * 1024) { json in
            json.array(of: groups) { json, group in
                json.object {
                    $0.members(of: group.json)
                    $0.member("rooms", array: { for room in group.rooms { $0.value(room.json) } })
                }
            }
        }
    }

    // MARK: Badges

    /// `badges` and `hasUnread`.
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

/// What a Room is written from.
private struct Parts {
    let base: JSONObject
    let people: [JSONObject]
    let createdAt: Int
    let updatedAt: Int
    let messagesUpdatedAt: Int?
    let fields: RoomFields
    let values: [JSONValue]
    let present: Set<String>
    let unnamed: JSONValue

    private var lastActivity: Int { max(updatedAt, messagesUpdatedAt ?? .min) }

    func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("id", base["id"])
            json.member("name", base["name"].flatMap { $0.isNull ? nil : $0 } ?? unnamed)
            json.member("displayName", base["displayName"])
            json.member("createdBy", base["createdBy"])
            json.member("createdAt", Timestamp(milliseconds: createdAt).isoSeconds)
            json.member("updatedAt", Timestamp(milliseconds: updatedAt).isoSeconds)
            for time in fields.times {
                json.member(time.name, values[time.index].int.map { Timestamp(milliseconds: $0).isoSeconds })
            }
            json.member("lastActivityAt", Timestamp(milliseconds: lastActivity).iso)
            json.member("lastActivityType", lastActivity > updatedAt ? "message" : "roomUpdate")
            json.member("isActive", !present.isEmpty)
            json.member("participants", array: { for person in people { write(person, to: &$0) } })
            for field in fields.values { json.member(field.name, values[field.index]) }
            ComposedRoom.write(fields.badges.lazy.map { ($0.name, values[$0.index]) }, to: &json)
        }
    }

    private func write(_ person: JSONObject, to json: inout JSONWriter) {
        json.object {
            $0.member("userId", person["userId"])
            $0.member("username", person["username"])
            $0.member("firstName", person["firstName"])
            $0.member("joinedAt", Timestamp(milliseconds: person["joinedAt"]?.int ?? 0).isoSeconds)
            $0.member("isPresent", !present.isEmpty && present.contains(person["userId"]?.string ?? ""))
        }
    }
}
