import ParlorClient

extension Journey {
    /// Calls what `RoomsAPI` offers, and stops the program if a call returns off the main actor.
    ///
    /// A function that inherits its caller's actor has to return to it. Release builds of Swift 6.3 break that for some
    /// functions that work after their last `await`. The compiler reports nothing, and debug builds are right.
    func checkActor(after api: RoomsAPI, in room: Room, of other: Person) async throws {
        _ = try await api.me()
        MainActor.preconditionIsolated("me")
        _ = try await api.peopleWithoutRooms()
        MainActor.preconditionIsolated("peopleWithoutRooms")
        _ = try await api.myRooms()
        MainActor.preconditionIsolated("myRooms")
        _ = try await api.roomsByPerson()
        MainActor.preconditionIsolated("roomsByPerson")
        _ = try await api.room(room.id)
        MainActor.preconditionIsolated("room")
        _ = try await api.rename(room.id, to: "Plans again")
        MainActor.preconditionIsolated("rename")
        let message = try await api.send("one more", in: room.id)
        MainActor.preconditionIsolated("send")
        _ = try await api.messages(in: room.id)
        MainActor.preconditionIsolated("messages(in:)")
        _ = try await api.messages(with: other.id)
        MainActor.preconditionIsolated("messages(with:)")
        _ = try await api.markRead([message.id], in: room.id)
        MainActor.preconditionIsolated("markRead")
        try await api.deleteMessage(message.id, in: room.id)
        MainActor.preconditionIsolated("deleteMessage")
        let element = try await api.makeElement(type: "note", in: room.id)
        MainActor.preconditionIsolated("makeElement")
        _ = try await api.elements(in: room.id)
        MainActor.preconditionIsolated("elements")
        try await api.deleteElement(element.id, in: room.id)
        MainActor.preconditionIsolated("deleteElement")
        _ = try await api.clear(room.id)
        MainActor.preconditionIsolated("clear")
        let answer: JSON = try await api.call("GET", ["api", "rooms", room.id])
        MainActor.preconditionIsolated("call")
        guard case .object = answer else { throw Failed(description: "a room is not an object") }
    }
}
