import ParlorContracts
import ParlorJSON
import ParlorServiceKit
import ParlorStorage

extension RequestDescription {
    static let renameRoom = RequestDescription(
        "Renames a room.", takes: Rooms.newName, gives: .room, errors: [.invalidField])
}

extension EventDescription {
    static let roomUpdated = EventDescription(
        "room:updated", to: .room, "The room's name has changed.",
        .object(["room": .object(["id": .id, "name": Schema.string.orNull, "updatedAt": .time])]))
    static let roomUpdatedGlobal = EventDescription(
        "room:updated:global", to: .everyone, "A room's name has changed.",
        .object(["roomId": .id, "updatedBy": .id, "updatedAt": .time]))
}

extension Rooms {
    fileprivate static let newName = Fields(RoomName.field)

    /// Renames a room. If the name is the same, nothing changes and nothing is emitted.
    func renameRoom(_ request: RoomRequest) async throws -> Reply {
        let name = try Self.newName.read(request.fields)
        let (roomID, callerID) = (request.room.roomID, request.caller.userID)
        let (room, entry) = try await request.write { [clock] connection -> (Room, EntryPosition?) in
            let store = RoomsStore(connection)
            guard var room = try store.room(roomID) else { throw ServiceError.roomNotFound }
            guard room.name != name else { return (room, nil) }
            room.name = name
            let now = clock.now()
            // The time advances with every change, even if the clock stands still or goes back.
            room.updatedAt = max(now, room.updatedAt.adding(.milliseconds(1)))
            try store.updateName(of: room)
            let entry = try request.emit(
                Self.emissions(ofRenaming: room, by: callerID), fact: .roomRenamed, at: now, on: connection)
            return (room, entry)
        }
        return Reply(.ok, room.json, position: entry)
    }

    private static func emissions(ofRenaming room: Room, by personID: String) -> [Emission] {
        let updated = JSONWriter.object {
            $0.member(
                "room",
                object: {
                    $0.member("id", room.id)
                    $0.member("name", room.name?.text)
                    $0.member("updatedAt", room.updatedAt.isoSeconds)
                })
        }
        let global = JSONWriter.object {
            $0.member("roomId", room.id)
            $0.member("updatedBy", personID)
            $0.member("updatedAt", room.updatedAt.isoSeconds)
        }
        return [
            Emission(to: .room, "room:updated", updated), Emission(to: .everyone, "room:updated:global", global),
        ]
    }
}
