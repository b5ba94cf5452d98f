// Presence is known only while the socket is connected: it arrives as events that the server does not replay.
extension Room {
    /// This room with nobody present.
    var withoutPresence: Room {
        var room = self
        room.removePresence()
        return room
    }

    mutating func removePresence() {
        isActive = false
        for index in participants.indices { participants[index].isPresent = false }
    }
}
