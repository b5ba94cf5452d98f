/// Rooms grouped by the other participant.
struct RoomsByPerson {
    /// The people, latest activity first. If their times are equal, the higher id comes first. Each person's rooms are
    /// sorted as by `RoomOrder.content`.
    let people: [PersonWithRooms]

    /// Groups direct rooms. E-mail addresses are missing, because rooms have none.
    init(_ rooms: [Room], for userID: String) {
        var people: [String: PersonWithRooms] = [:]
        for room in rooms {
            for other in room.participants where room.kind == .direct && other.userID != userID {
                let person = Person(id: other.userID, username: other.username, firstName: other.firstName)
                people[person.id, default: PersonWithRooms(person: person, rooms: [])].rooms.append(room)
            }
        }
        let groups = people.values.map { group in
            let rooms = group.rooms.sorted { RoomOrder.content.sorts($0, before: $1) }
            let latest = rooms.map(\.lastActivityDate).max() ?? .distantPast
            return (latest: latest, group: PersonWithRooms(person: group.person, rooms: rooms))
        }
        self.people = groups.sorted { ($0.latest, $0.group.id) > ($1.latest, $1.group.id) }.map(\.group)
    }
}
