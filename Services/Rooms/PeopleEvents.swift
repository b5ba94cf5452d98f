import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorServiceKit
import ParlorStorage

extension EventDescription {
    private static let participant = Schema.object([
        "userId": .id, "username": .string, "firstName": Schema.string.orNull, "joinedAt": .time,
        "role": .choice([RoomRole.owner.rawValue, RoomRole.member.rawValue]),
    ])

    static let ofPeople = [
        EventDescription(
            "participant:joined", to: .room, "A person was added to the group.",
            .object(["roomId": .id, "participant": participant, "addedBy": .id, "updatedAt": .time])),
        EventDescription(
            "participant:left", to: .room, "A person has left the group, or was removed from it.",
            .object(["roomId": .id, "userId": .id, "removedBy": Schema.id.orNull, "updatedAt": .time])),
        EventDescription(
            "participant:updated", to: .room, "A person has another role.",
            .object(["roomId": .id, "participant": participant])),
        EventDescription(
            "room:removed", to: .person, "This person has left the group, or was removed from it.",
            .object(["roomId": .id, "removedBy": Schema.id.orNull])),
    ]
}

/// The events of a completed change of a room's people, in the order of its acts.
struct PeopleEvents {
    private(set) var emissions: [Emission] = []

    var isEmpty: Bool { emissions.isEmpty }

    /// - Parameter room: the room after the change.
    init(_ change: PendingChange, in room: Room) {
        for act in change.acts where !act.isTakenBack {
            switch act.kind {
            case .addition: emissions += joining(act, room)
            case .removal: emissions += act.people.map { leaving($0.userID, act, room) }
            case .role: emissions += act.ids.flatMap { updated($0, room) }
            }
            if let heir = act.heir { emissions += updated(heir, room) }
            emissions.append(global(by: act.by, room))
        }
    }

    private func joining(_ act: PendingChange.Act, _ room: Room) -> [Emission] {
        // Who was removed before the addition was complete has never come.
        let people = act.ids.compactMap(room.membership.participant)
        let joined = people.map { participant in
            Emission(
                to: .room, "participant:joined",
                JSONWriter.object {
                    $0.member("roomId", room.id)
                    $0.name("participant")
                    participant.writeForClients(to: &$0)
                    $0.member("addedBy", act.by)
                    $0.member("updatedAt", room.updatedAt.isoSeconds)
                })
        }
        let created = people.map {
            Emission(
                to: .person($0.userID), "room:created", room.json(listedFor: $0.userID), composition: .joinedRoom)
        }
        return joined + created
    }

    private func leaving(_ userID: String, _ act: PendingChange.Act, _ room: Room) -> Emission {
        Emission(
            to: .room, "participant:left",
            JSONWriter.object {
                $0.member("roomId", room.id)
                $0.member("userId", userID)
                $0.member("removedBy", act.by == userID ? nil : act.by)
                $0.member("updatedAt", room.updatedAt.isoSeconds)
            })
    }

    private func updated(_ userID: String, _ room: Room) -> [Emission] {
        guard let participant = room.membership.participant(userID) else { return [] }
        let data = JSONWriter.object {
            $0.member("roomId", room.id)
            $0.name("participant")
            participant.writeForClients(to: &$0)
        }
        return [Emission(to: .room, "participant:updated", data)]
    }

    private func global(by userID: String, _ room: Room) -> Emission {
        Emission(
            to: .everyone, "room:updated:global",
            JSONWriter.object {
                $0.member("roomId", room.id)
                $0.member("updatedBy", userID)
                $0.member("updatedAt", room.updatedAt.isoSeconds)
            })
    }

    /// Appends an entry for each person who has left. It has no room, as the person has no part in the room any more.
    static func appendRemovals(of change: PendingChange, at now: Timestamp, on connection: any Connection) throws {
        for act in change.acts where act.kind == .removal {
            for userID in act.ids {
                let data = JSONWriter.object {
                    $0.member("roomId", change.roomID)
                    $0.member("removedBy", act.by == userID ? nil : act.by)
                }
                try EventLog.append(
                    at: now, roomID: "", participants: [userID],
                    emissions: [Emission(to: .person(userID), "room:removed", data)], on: connection)
            }
        }
    }
}

extension Participant {
    /// Writes the participant as events show it: presence is known only to gateways.
    fileprivate func writeForClients(to json: inout JSONWriter) {
        json.object {
            $0.member("userId", userID)
            $0.member("username", username)
            $0.member("firstName", firstName)
            $0.member("joinedAt", joinedAt.isoSeconds)
            $0.member("role", role.rawValue)
        }
    }
}
