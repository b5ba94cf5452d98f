/// The rooms whose cached messages were current when the room was left.
///
/// If such a room is joined again on the same connection, the server sends every event since the leave, so no page is
/// needed. If an event arrives after the room was left here, but before the server has handled the leave, it is not
/// sent again. Such an event removes the room from this list.
///
/// If a service adds fields to messages, a page is always fetched. Messages in events lack these fields, and a
/// field may change while the room is left.
final class FreshRooms: Sendable {
    struct Note: Sendable {
        /// The cursor of the connection.
        let cursor: String
        /// The number of newest messages in the cache.
        let count: Int
        let newestID: String?
        let hasOlder: Bool
    }

    private let notes = Guarded<[String: Note]>([:])
    /// True once a page had fields of added services.
    private let hasFields = Guarded(false)

    func note(_ note: Note?, of roomID: String) { notes.withLock { $0[roomID] = note } }

    /// Notes whether the server's messages have fields of added services.
    func note(_ page: Page<Message>) {
        if !page.items.allSatisfy(\.extras.isEmpty) { hasFields.withLock { $0 = true } }
    }

    /// - Returns: the cached messages as a page; nil if they may be out of date.
    func page(of cached: [Message], in roomID: String, on cursor: String?) -> Page<Message>? {
        guard let note = notes.withLock({ $0.removeValue(forKey: roomID) }), note.cursor == cursor,
            note.count == cached.count, note.newestID == cached.last?.id,
            !hasFields.withLock(\.self), cached.allSatisfy(\.extras.isEmpty)
        else { return nil }
        return Page(items: cached, next: note.hasOlder ? "" : nil)
    }
}

extension RoomEvent {
    /// The room of a message event that goes only to sockets in that room; nil for other events.
    var messageRoomID: String? {
        switch self {
        case .messageNew(let message): message.roomId
        case .messageDeleted(let roomID, _, _), .messagesRead(let roomID, _, _, _): roomID
        default: nil
        }
    }
}
