import Foundation
import ParlorClient

/// All rooms.
struct Rooms: Sendable {
    var all: [String: RoomState] = [:]
    /// The ids of rooms by the `clientRequestId` that created them.
    private var ids: [TempID: String] = [:]

    /// Returns a room of a person. Other people's rooms are refused as not found.
    func room(_ id: String?, of userID: String) throws(Refused) -> RoomState {
        guard let id, let room = all[id], room.participant(userID) != nil else { throw .notFound("room") }
        return room
    }

    /// Adds a room, or returns the earlier one with the same `clientRequestId`.
    mutating func add(
        _ fields: JSON, by userID: String, _ accounts: Accounts, _ numbers: inout Numbers
    ) throws(Refused) -> (room: RoomState, isNew: Bool) {
        let otherID = try fields.required("otherUserId")
        let key = fields["clientRequestId"]?.string.map { TempID(userID: userID, text: $0) }
        if let key, let room = ids[key].flatMap({ all[$0] }) { return (room, false) }
        guard otherID != userID else { throw .invalid("otherUserId", "has to be someone else's") }
        guard let creator = accounts[userID], let other = accounts[otherID] else { throw .notFound("user") }
        let name = fields.member("name") == nil ? nil : try Self.name(fields)
        let time = numbers.stamp()
        let room = RoomState(
            id: numbers.makeID(at: time), name: name, createdBy: userID, createdAt: time, updatedAt: time,
            participants: [creator, other])
        all[room.id] = room
        if let key { ids[key] = room.id }
        return (room, true)
    }

    /// Returns a person's rooms, the one with the greatest key first.
    func list(of userID: String, by key: (RoomState) -> Int) -> [RoomState] {
        all.values.filter { $0.participant(userID) != nil }.sorted { (key($0), $0.id) > (key($1), $1.id) }
    }

    /// Returns a page of the messages in the rooms that two people share.
    func conversation(of userID: String, with otherID: String, _ query: Query) throws(Refused) -> Answer {
        let limit = try query.limit(standard: 50, max: 200)
        let before = try query.integer("before") ?? .max
        let found = all.values.filter { $0.participant(userID) != nil && $0.participant(otherID) != nil }
            .flatMap { room in room.messages.all.map { (room: room, message: $0) } }
            .filter { $0.message.createdAt < before }
            .sorted { ($0.message.createdAt, $0.message.seq) < ($1.message.createdAt, $1.message.seq) }
        let shown = found.suffix(limit)
        // Each message has a different time here, so a time is enough as a cursor.
        let next = found.count > limit ? shown.first.map { String($0.message.createdAt) } : nil
        return Answer(200, .array(shown.map { $0.room.json($0.message) }), next: .some(next))
    }

    /// Returns the request's name; nil if it is empty, which removes the room's name.
    static func name(_ fields: JSON) throws(Refused) -> String? {
        let name = try fields.required("name").trimmingCharacters(in: .whitespacesAndNewlines)
        guard name.unicodeScalars.count <= 100 else { throw .invalid("name", "may have at most 100 characters") }
        return name.isEmpty ? nil : name
    }
}
