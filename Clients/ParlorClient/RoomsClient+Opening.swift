extension RoomsClient {
    /// Opens a room by its id, for example the id in a push notification.
    ///
    /// If the list does not have the room, the cached list is read, and then the room is fetched from the server.
    /// So a notification can open a cached room without a network.
    ///
    /// - Returns: the conversation, as ``open(_:)`` does; close it with ``close(_:)-(Conversation)``.
    /// - Throws: `ClientFailure`: `refused` with `room_not_found` if the person is not in the room, `signedOut` after
    ///   ``signOut()``, or the failure of the fetch. `CancellationError`.
    public func open(roomID: String) async throws -> Conversation {
        if isSignedOut { throw ClientFailure.signedOut }
        if rooms[roomID] == nil { await rooms.showKept() }
        if isSignedOut { throw ClientFailure.signedOut }
        if let room = rooms[roomID] { return open(room) }
        return open(try await api.room(roomID).room)
    }
}
