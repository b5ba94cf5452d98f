extension RoomsClient {
    /// Opens a room for one screen, and clears its element badge.
    ///
    /// The conversation first shows cached messages, and the server's as soon as it answers. After a sign-out the
    /// room stays empty.
    ///
    /// - Returns: a new object for each call. The room closes when it is closed or released.
    public func open(_ room: Room) -> OpenRoom { OpenRoom(room, of: self) }

    /// Opens a room by its id, for example the id in a push notification.
    ///
    /// If the list does not have the room, the cached list is read, and then the room is fetched from the server.
    /// So a notification can open a cached room without a network.
    ///
    /// - Throws: `ClientFailure`: `refused` with `room_not_found` if the person is not in the room, `signedOut` after
    ///   a sign-out, or the failure of the fetch. `CancellationError`.
    public func open(roomID: String) async throws -> OpenRoom { open(try await room(roomID)) }

    /// Returns a room by its id. It is looked up as in ``open(roomID:)``, but not opened.
    ///
    /// - Throws: as ``open(roomID:)``.
    public func room(_ id: String) async throws -> Room {
        if isSignedOut { throw ClientFailure.signedOut }
        if rooms[id] == nil { await rooms.showKept() }
        if isSignedOut { throw ClientFailure.signedOut }
        if let room = rooms[id] { return room }
        return try await api.room(id).room
    }

    /// Opens the chat with a person for one screen. It has the messages of all rooms that only the two people share.
    ///
    /// - Returns: a new model for each call. Its rooms close when it is closed or released.
    package func openConversation(with person: Person) -> PersonConversation {
        PersonConversation(
            with: person, in: rooms, pageSize: local.conversations.settings.pageSize, clock: clock,
            openRoom: { OpenRoom($0, of: self, isWhole: false) })
    }
}
