/// Rooms that were left while all in them was known, on which connection, and what the cache has of them then.
///
/// A join on the same connection brings all that has happened since the server has left the room: then there is nothing to fetch. What
/// comes between leaving here and leaving there comes once, and ends it.
final class FreshRooms: Sendable {
    struct Note: Sendable {
        /// The connection's.
        let cursor: String
        /// Of the newest messages, which the cache has.
        let count: Int
        let newestID: String?
        let hasOlder: Bool
    }

    private let notes = Guarded<[String: Note]>([:])

    func note(_ note: Note?, of roomID: String) { notes.withLock { $0[roomID] = note } }

    /// - Returns: what is in the cache as a page, if it is known to be what the server had.
    func page(of cached: [Message], in roomID: String, on cursor: String?) -> Page<Message>? {
        guard let note = notes.withLock({ $0.removeValue(forKey: roomID) }), note.cursor == cursor,
            note.count == cached.count, note.newestID == cached.last?.id
        else { return nil }
        return Page(items: cached, next: note.hasOlder ? "" : nil)
    }
}

extension RoomEvent {
    /// The room of whose messages it is, if it is sent to that room alone.
    var messageRoomID: String? {
        switch self {
        case .messageNew(let message): message.roomId
        case .messageDeleted(let roomID, _, _), .messagesRead(let roomID, _, _, _): roomID
        default: nil
        }
    }
}
