/// Rooms that were left while the cache had all of their newest messages, and on which connection.
///
/// A join on the same connection brings every event since the server's leave: then no page has to be fetched. An event that arrives
/// between the leave here and the one at the server is not sent again, so it removes the room from here.
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

    /// - Returns: the cached messages as a page, if the server had the same ones; nil if they may be out of date.
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
