import Foundation
import ParlorClient

extension Parlor {
    /// Returns a room of a person. Other people's rooms are refused as not found.
    func room(_ id: String?, of userID: String) throws(Refused) -> RoomState {
        guard let id, let room = rooms[id], room.isParticipant(userID) else { throw .notFound("room") }
        return room
    }

    mutating func makeRoom(_ fields: JSON, by userID: String) throws(Refused) -> Answer {
        let otherID = try fields.required("otherUserId")
        let key = fields["clientRequestId"]?.string.map { RoomState.TempID(userID: userID, text: $0) }
        if let key, let made = roomsByRequest[key], let room = rooms[made] {
            return Answer(200, json(room, for: userID))
        }
        guard otherID != userID else { throw .invalid("otherUserId", "has to be someone else's") }
        guard accounts[otherID] != nil else { throw .notFound("user") }
        let name = fields.member("name") == nil ? nil : try Self.roomName(fields)
        let time = stamp()
        let room = RoomState(
            id: makeID(at: time), name: name, createdBy: userID, createdAt: time, updatedAt: time,
            participants: [userID, otherID].map { .init(userID: $0, joinedAt: time) })
        rooms[room.id] = room
        if let key { roomsByRequest[key] = room.id }
        for person in room.participants {
            emit(
                "room:created", .object(["room": json(room, for: person.userID)]), to: .person(person.userID),
                in: room.id)
        }
        emit("room:created:global", .object(["createdBy": .string(userID)]), to: .everyone, in: room.id)
        return Answer(201, json(room, for: userID))
    }

    mutating func rename(_ roomID: String?, _ fields: JSON, by userID: String) throws(Refused) -> Answer {
        var room = try room(roomID, of: userID)
        let name = try Self.roomName(fields)
        guard name != room.name else { return Answer(200, json(room, for: userID)) }
        room.name = name
        room.updatedAt = stamp()
        rooms[room.id] = room
        let updatedAt = JSON.string(WireTime.seconds(room.updatedAt))
        let payload: [String: JSON] = ["id": .string(room.id), "name": .optional(name), "updatedAt": updatedAt]
        emit("room:updated", .object(["room": .object(payload)]), to: .room, in: room.id, namesRoom: false)
        emit(
            "room:updated:global", .object(["updatedBy": .string(userID), "updatedAt": updatedAt]), to: .everyone,
            in: room.id)
        return Answer(200, json(room, for: userID))
    }

    func myRooms(of userID: String, sort: String?) throws(Refused) -> Answer {
        let key: (RoomState) -> Int
        switch sort ?? "activity" {
        case "activity": key = \.lastActivityAt
        case "messages": key = { $0.messagesUpdatedAt ?? .min }
        case "content": key = \.updatedAt
        default: throw .invalid("sort", "must be activity, messages or content")
        }
        return Answer(200, .array(list(of: userID, by: key).map { json($0, for: userID, isListed: true) }))
    }

    func roomsByPerson(of userID: String) -> Answer {
        let rooms = list(of: userID) { $0.updatedAt }
        let partners = Set(rooms.flatMap { $0.others(than: userID) })
        let groups = partners.map { partner in
            let shared = rooms.filter { $0.isParticipant(partner) }
            return (latest: shared.map(\.lastActivityAt).max() ?? 0, id: partner, rooms: shared)
        }.sorted { ($0.latest, $0.id) > ($1.latest, $1.id) }
        return Answer(
            200,
            .array(
                groups.compactMap { group in
                    guard let account = accounts[group.id] else { return nil }
                    let shared = JSON.array(group.rooms.map { json($0, for: userID) })
                    return Self.json(account.person).adding(["rooms": shared])
                }))
    }

    /// Returns a room as one person sees it.
    ///
    /// - Parameter isListed: true for `my-rooms` and `sync`. There an unnamed room has an empty name instead of null.
    func json(_ room: RoomState, for userID: String, isListed: Bool = false) -> JSON {
        let isMessage = room.messagesUpdatedAt.map { $0 > room.updatedAt } ?? false
        let last = room.messages.last.map { message in
            JSON.object([
                "id": .string(message.id), "senderId": .string(message.senderID), "text": .string(message.text),
                "createdAt": .string(WireTime.milliseconds(message.createdAt)),
            ])
        }
        let own: [String: JSON] = [
            "id": .string(room.id), "name": .optional(room.name ?? (isListed ? "" : nil)),
            "displayName": .string(displayName(of: room)), "createdBy": .string(room.createdBy),
            "createdAt": .string(WireTime.seconds(room.createdAt)),
            "updatedAt": .string(WireTime.seconds(room.updatedAt)),
            "messagesUpdatedAt": .optional(room.messagesUpdatedAt.map(WireTime.seconds)),
            "lastActivityAt": .string(WireTime.milliseconds(room.lastActivityAt)),
            "lastActivityType": .string(isMessage ? "message" : "roomUpdate"),
            "isActive": .bool(room.participants.contains { isPresent($0.userID, in: room.id) }),
            "participants": .array(room.participants.map { json($0, in: room.id) }),
            "elementCount": .integer(room.elements.count),
            "unseenElementCount": .integer(room.unseen[userID] ?? 0), "lastMessage": last ?? .null,
        ]
        return pluginFields(of: room).adding(own).adding(badges(of: userID, in: room))
    }

    func list(of userID: String, by key: (RoomState) -> Int) -> [RoomState] {
        rooms.values.filter { $0.isParticipant(userID) }.sorted { (key($0), $0.id) > (key($1), $1.id) }
    }

    private func json(_ participant: RoomState.Participant, in roomID: String) -> JSON {
        let person = accounts[participant.userID]?.person
        return .object([
            "userId": .string(participant.userID), "username": .optional(person?.username),
            "firstName": .optional(person?.firstName), "joinedAt": .string(WireTime.seconds(participant.joinedAt)),
            "isPresent": .bool(isPresent(participant.userID, in: roomID)),
        ])
    }

    private func displayName(of room: RoomState) -> String {
        room.name ?? room.participants.compactMap { accounts[$0.userID]?.person.displayName }.joined(separator: " & ")
    }

    /// Returns the request's name; nil if it is empty, which removes the room's name.
    private static func roomName(_ fields: JSON) throws(Refused) -> String? {
        let name = try fields.required("name").trimmingCharacters(in: .whitespacesAndNewlines)
        guard name.unicodeScalars.count <= 100 else { throw .invalid("name", "may have at most 100 characters") }
        return name.isEmpty ? nil : name
    }
}
