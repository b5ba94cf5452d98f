// Presence is known only in the rooms that are open here, while the socket is connected: the server sends it to the
// sockets that have joined a room, and does not replay it.

extension Room {
    /// Marks these people as present, and all others as absent.
    mutating func setPresent(_ userIDs: Set<String>) {
        for index in participants.indices {
            participants[index].isPresent = userIDs.contains(participants[index].userID)
        }
        isActive = !userIDs.isEmpty
    }
}

extension RoomStore {
    /// The others who are known to be in a room.
    func present(in roomID: String) -> Set<String> {
        Set(presence[roomID, default: [:]].filter { $0.value }.keys)
    }

    /// Notes the presence of a person in an open room. The person's own is ignored.
    ///
    /// - Parameter isAnswer: true if it comes with the answer to joining the room. What events have said is newer.
    mutating func notePresence(
        _ isPresent: Bool, of personID: String, in roomID: String, isAnswer: Bool = false
    ) {
        if personID == userID || isAnswer && presence[roomID]?[personID] != nil { return }
        presence[roomID, default: [:]][personID] = isPresent
        showPresence(in: roomID)
    }

    /// Marks everybody in a room as absent, because the room is being left.
    mutating func forgetPresence(in roomID: String) {
        presence[roomID] = nil
        peopleChanged.remove(roomID)
        showPresence(in: roomID)
    }

    /// Marks everybody as absent, because the connection has ended.
    mutating func forgetPresence() {
        for roomID in presence.keys { forgetPresence(in: roomID) }
        peopleChanged = []
    }

    private mutating func showPresence(in roomID: String) {
        let present = present(in: roomID)
        change(roomID) { $0.setPresent(present) }
    }
}
