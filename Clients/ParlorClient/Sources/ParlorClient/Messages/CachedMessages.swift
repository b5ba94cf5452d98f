/// The cached messages of a room, and up to where they are complete.
struct CachedMessages: Codable, Equatable, Sendable {
    /// In ascending order.
    var messages: [Message] = []
    /// The step of `FreshRooms` up to which all events are applied. It is nil if unknown, or if a message is missing in
    /// between. It is also nil if an unread message is not cached, because the next visit opens at that message.
    var step: String?
    /// True if the server has older messages.
    var hasOlder = false

    /// Returns the newest messages of a store.
    ///
    /// - Parameter step: the step up to which the store has all events; nil if unknown.
    init(newest limit: Int, of store: MessageStore, step: String?) {
        messages = store.newest(limit)
        hasOlder = store.hasOlder || store.items.storedCount > messages.count
        let older = store.items.stored.dropLast(messages.count)
        let lacksUnread = older.contains { $0.message?.isUnread(by: store.ownID) ?? false }
        // A message that is missing in between would later count as deleted.
        if !lacksUnread, store.firstGap == nil { self.step = step }
    }

    init(_ messages: [Message] = [], step: String? = nil, hasOlder: Bool = false) {
        (self.messages, self.step, self.hasOlder) = (messages, step, hasOlder)
    }

    /// Returns the messages after all events up to a later step.
    ///
    /// - Parameter events: all events of the room between the two steps, in order.
    func applying(
        _ events: [RoomEvent], to store: MessageStore, limit: Int, step: String
    ) -> Self {
        var store = store
        store.merge(Page(items: messages, next: hasOlder ? "" : nil), asked: .earlierNewest)
        for event in events { store.apply(event) }
        return Self(newest: limit, of: store, step: step)
    }
}

extension Message {
    /// Returns true if the person still has to read the message.
    func isUnread(by personID: String) -> Bool {
        senderID != personID && !readBy.contains { $0.userID == personID }
    }
}

extension MessageStore {
    /// Applies an event of messages. It ignores other events, and those of other rooms.
    mutating func apply(_ event: RoomEvent) {
        guard event.messageRoomID == roomID else { return }
        switch event {
        case .messageNew(let message): insert(message)
        case .messageDeleted(_, let messageID, _): delete(messageID)
        case .messagesRead(_, let userID, let messageIDs, let readAt): markRead(messageIDs, by: userID, at: readAt)
        default: break
        }
    }
}
