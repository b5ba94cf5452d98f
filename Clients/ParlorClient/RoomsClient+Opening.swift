extension RoomsClient {
    /// Opens a room by its id, as in a push notification. A room that is not in the list yet is read from the
    /// cache, otherwise fetched: without a network, a notification can still open a cached room.
    ///
    /// - Returns: the conversation, as ``open(_:)`` does; close it with ``close(_:)-(Conversation)``.
    /// - Throws: `ClientFailure`: `room_not_found` if the room is not the person's; `signedOut` after ``signOut()``.
    public func open(roomID: String) async throws -> Conversation {
        if isSignedOut { throw ClientFailure.signedOut }
        if rooms[roomID] == nil { await rooms.showKept() }
        if isSignedOut { throw ClientFailure.signedOut }
        if let room = rooms[roomID] { return open(room) }
        return open(try await api.room(roomID).room)
    }
}
