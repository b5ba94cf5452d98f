extension RoomsClient {
    /// Opens a room by its id, as in a push notification. A room that is not in the list yet is read from the
    /// cache, otherwise fetched: without a network, a notification can still open a cached room.
    ///
    /// - Returns: the conversation, as ``open(_:)`` does; close it with ``close(_:)-(Conversation)``.
    /// - Throws: `ClientFailure`: `room_not_found` if the room is not the person's; `signedOut` after ``signOut()``.
    public func open(roomID: String) async throws -> Conversation { open(try await room(roomID)) }

    /// Returns a room by its id, found as by ``open(roomID:)``, for a screen that opens it itself.
    ///
    /// - Throws: `ClientFailure`, as ``open(roomID:)`` does.
    public func room(_ roomID: String) async throws -> Room {
        if isSignedOut { throw ClientFailure.signedOut }
        if rooms[roomID] == nil { await rooms.showKept() }
        if isSignedOut { throw ClientFailure.signedOut }
        if let room = rooms[roomID] { return room }
        return try await api.room(roomID).room
    }
}
