extension RoomsClient {
    /// Opens a room of which only the id is known, as a push has it. The server is asked for a room that the list does not have yet.
    ///
    /// - Returns: as ``open(_:)``; it has to be closed.
    /// - Throws: `ClientFailure`: `room_not_found` for a room that is not one's own.
    public func open(roomID: String) async throws -> Conversation {
        if let room = rooms[roomID] { return open(room) }
        return open(try await api.room(roomID).room)
    }
}
