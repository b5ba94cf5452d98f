/// The clients of one loop, by room, by person, and all of them.
///
/// Arrays, because they are walked for every event and changed seldom; a client's place in the longest one is kept.
struct Audience {
    private(set) var everyone: [Client] = []
    private var people: [String: [Client]] = [:]
    private var rooms: [String: [Client]] = [:]

    func person(_ id: String) -> [Client] { people[id] ?? [] }
    func room(_ id: String) -> [Client] { rooms[id] ?? [] }

    mutating func add(_ client: Client) {
        client.everyoneIndex = everyone.count
        everyone.append(client)
        people[client.caller.id, default: []].append(client)
    }

    /// One that is not in it, as it was not caught up yet, is none of its business.
    mutating func remove(_ client: Client) {
        guard let index = client.everyoneIndex else { return }
        client.everyoneIndex = nil
        for roomID in client.rooms { leave(roomID, client) }
        Self.remove(client, from: &people, client.caller.id)
        let last = everyone.removeLast()
        if last !== client {
            everyone[index] = last
            last.everyoneIndex = index
        }
    }

    mutating func join(_ roomID: String, _ client: Client) {
        if client.rooms.insert(roomID).inserted { rooms[roomID, default: []].append(client) }
    }

    mutating func leave(_ roomID: String, _ client: Client) {
        if client.rooms.remove(roomID) != nil { Self.remove(client, from: &rooms, roomID) }
    }

    private static func remove(_ client: Client, from lists: inout [String: [Client]], _ key: String) {
        lists[key]?.removeAll { $0 === client }
        if lists[key]?.isEmpty == true { lists[key] = nil }
    }
}
