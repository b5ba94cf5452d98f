import Foundation

extension Room {
    /// False for a large group of which only the first people are known.
    var hasAllParticipants: Bool { participants.count >= participantCount }

    /// Puts a person who has come, or has changed, into the participants.
    ///
    /// - Returns: false if only the server knows the number of participants now.
    mutating func put(_ participant: Participant) -> Bool {
        if let index = participants.firstIndex(where: { $0.userID == participant.userID }) {
            let known = participants[index]
            participants[index] = participant
            participants[index].isPresent = known.isPresent
            // Who came back is the last one.
            if known.joinedAt != participant.joinedAt { participants.append(participants.remove(at: index)) }
        } else if hasAllParticipants {
            participants.append(participant)
            participantCount += 1
        } else {
            return false
        }
        takeName(name)
        return true
    }

    /// Removes a person from the participants.
    ///
    /// - Returns: false if only the server knows the number of participants now.
    mutating func remove(_ userID: String) -> Bool {
        guard let index = participants.firstIndex(where: { $0.userID == userID }) else { return hasAllParticipants }
        participants.remove(at: index)
        participantCount -= 1
        takeName(name)
        return true
    }
}

extension RoomStore {
    /// Applies an event about a person in a group.
    ///
    /// - Parameters:
    ///   - time: nil if the event has none.
    ///   - body: changes the participants; false if only the server knows how many there are now.
    mutating func applyPeople(
        of roomID: String, at time: Date?, _ now: Date, _ body: (inout Room) -> Bool
    ) -> String? {
        guard touch(roomID, now: now) else { return nil }
        noteDescription(of: roomID, at: time)
        peopleChanged.insert(roomID)
        let (full, present) = (time.map { fullTime(of: $0, in: roomID) }, present(in: roomID))
        var isKnown = true
        change(roomID) { room in
            isKnown = body(&room)
            room.setPresent(present)
            if let full { room.noteContent(at: full) }
        }
        if !isKnown { need(.answer, of: roomID) }
        return roomID
    }

    /// Notes that somebody else is no longer in a group.
    mutating func applyLeaving(_ personID: String, _ roomID: String, at time: Date?, _ now: Date) -> String? {
        presence[roomID]?[personID] = nil
        return applyPeople(of: roomID, at: time, now) { $0.remove(personID) }
    }

    /// Takes the participants from the answer to joining a room, which has all of them. If an event has changed them
    /// meanwhile, the answer may be older, so the room is fetched.
    mutating func takePeople(of answer: Room, now: Date) {
        guard answer.kind == .group, var room = self[answer.id] else { return }
        room.takePeople(of: answer)
        room.setPresent(present(in: room.id))
        guard room != self[room.id] else { return }
        guard !peopleChanged.contains(room.id) else { return need(.answer, of: room.id) }
        _ = touch(room.id, now: now)
        noteDescription(of: room.id, at: nil)
        put(room)
    }
}
