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

    func ids(of userID: String) -> Set<String> {
        Set(all.values.filter { $0.participant(userID) != nil }.map(\.id))
    }

    /// Adds a room, or returns the earlier one with the same `clientRequestId`.
    mutating func add(
        _ fields: JSON, by userID: String, _ accounts: Accounts, _ numbers: inout Numbers
    ) throws(Refused) -> (room: RoomState, isNew: Bool) {
        let (others, kind) = try Self.others(fields, of: userID)
        let name = fields.member("name") == nil ? nil : try Self.name(fields)
        let key = fields["clientRequestId"]?.string.map { TempID(userID: userID, text: $0) }
        if let key, let id = ids[key] { return (try room(id, of: userID), false) }
        let people = try accounts.people([userID] + others)
        let time = numbers.stamp()
        let participants = people.enumerated().map {
            StoredParticipant(person: $1, joinedAt: time, place: $0, role: $0 == 0 ? .owner : .member)
        }
        let room = RoomState(
            id: numbers.makeID(at: time), kind: kind, name: name, createdBy: userID, createdAt: time, updatedAt: time,
            participants: participants)
        all[room.id] = room
        if let key { ids[key] = room.id }
        return (room, true)
    }

    /// Returns the ids of the others in a new room.
    private static func others(
        _ fields: JSON, of userID: String
    ) throws(Refused) -> (ids: [String], kind: Room.Kind) {
        guard fields.member("participantIds") != nil else {
            let otherID = try fields.required("otherUserId")
            guard otherID != userID else { throw .invalid("otherUserId", "has to be someone else's") }
            return ([otherID], .direct)
        }
        let ids = try fields.strings("participantIds", count: 1...RoomState.maxParticipants - 1)
        guard fields.member("otherUserId") == nil else {
            throw .invalid("participantIds", "cannot be given together with otherUserId")
        }
        let others = ids.filter { $0 != userID }
        guard !others.isEmpty else { throw .invalid("participantIds", "has to have someone else's id") }
        return (others, .group)
    }

    /// Returns a person's rooms, the one with the greatest key first.
    func list(of userID: String, by key: (RoomState) -> Int) -> [RoomState] {
        all.values.filter { $0.participant(userID) != nil }.sorted { (key($0), $0.id) > (key($1), $1.id) }
    }

    /// Returns a page of the messages in the direct rooms of two people.
    func conversation(of userID: String, with otherID: String, _ query: Query) throws(Refused) -> Answer {
        let limit = try query.limit(standard: 50, max: 200)
        let before = try query.integer("before") ?? .max
        let shared = all.values.filter {
            $0.kind == .direct && $0.participant(userID) != nil && $0.participant(otherID) != nil
        }
        let found =
            shared
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
