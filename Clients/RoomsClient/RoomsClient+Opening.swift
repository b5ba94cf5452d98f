extension RoomsClient {
    /// Opens a room by its id, as in a push notification. It fetches a room that is not in the list yet.
    ///
    /// - Returns: the conversation, as ``open(_:)`` does; close it with ``close(_:)-(Conversation)``.
    /// - Throws: `ClientFailure`: `room_not_found` if the room is not the person's.
    public func open(roomID: String) async throws -> Conversation {
        if let room = rooms[roomID] { return open(room) }
        return open(try await api.room(roomID).room)
    }
}
