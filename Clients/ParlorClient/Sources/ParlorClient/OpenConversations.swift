/// The conversations that screens have open. All screens of a room share one, and the room is left with the last of them.
@MainActor
package final class OpenConversations {
    private let user: Person
    private let rooms: RoomList
    private let backing: MessageBacking
    let settings: Conversation.Settings
    /// By room. Those that are being left are among them, so that opening the room again creates no second one that
    /// writes the same files.
    private var conversations: [String: Conversation] = [:]
    /// The number of screens of each room; 0 while the room is being left.
    private var screens: [String: Int] = [:]
    /// The number of those that show the whole room, with its board.
    private var wholeScreens: [String: Int] = [:]
    private var isEnded = false

    init(of user: Person, in rooms: RoomList, backing: MessageBacking, settings: Conversation.Settings) {
        self.user = user
        self.rooms = rooms
        self.backing = backing
        self.settings = settings
    }

    var all: [Conversation] { Array(conversations.values) }

    package subscript(roomID: String) -> Conversation? { conversations[roomID] }

    /// Opens a room's conversation for one screen.
    ///
    /// - Parameters:
    ///   - isBehind: whether missed events are still to come.
    ///   - isWhole: false for a screen that shows only messages: the board's badge stays.
    /// - Returns: the same conversation for all screens of a room. Each screen has to ``close(_:isWhole:)`` it once.
    ///   After a sign-out it is one that stays empty.
    func open(_ room: Room, isBehind: Bool, isWhole: Bool) -> Conversation {
        let conversation =
            conversations[room.id]
            ?? Conversation(
                roomID: room.id, ownID: user.id, readership: Readership(of: room), isBehind: isBehind, backing: backing,
                settings: settings)
        if isEnded { return conversation }
        conversation.onUnknownRoom = { [weak rooms] in rooms?.check(room.id) }
        conversation.reader.unreadCount = { [counts = rooms.counts] in counts.latest(of: room.id)?.unreadMessages }
        conversation.reader.onEnd = { [weak rooms] in rooms?.noteEnd($0, of: room.id) }
        conversations[room.id] = conversation
        screens[room.id, default: 0] += 1
        if screens[room.id] == 1 {
            conversation.loader.unreadAtOpening =
                rooms.counts.latest(of: room.id)?.unreadMessages ?? room.badges.messages
            conversation.loader.keepsUnseen = true
            rooms.enterChat(room.id)
        }
        if isWhole { showWhole(conversation) }
        conversation.beginVisit()
        return conversation
    }

    /// Notes a screen that shows the whole room. If it is the first one, the elements are seen.
    private func showWhole(_ conversation: Conversation) {
        let roomID = conversation.roomID
        wholeScreens[roomID, default: 0] += 1
        guard wholeScreens[roomID] == 1 else { return }
        rooms.enter(roomID)
        conversation.loader.keepsUnseen = false
        if conversation.isEntered { _ = joinAgain(conversation) }
    }

    /// Notes that a screen with the whole room is closed. If only messages are shown now, later elements are unseen.
    private func hideWhole(_ conversation: Conversation) {
        let roomID = conversation.roomID
        guard let count = wholeScreens[roomID] else { return }
        wholeScreens[roomID] = count > 1 ? count - 1 : nil
        guard count == 1, screens[roomID] ?? 0 > 0 else { return }
        rooms.beginLeavingBoard(of: roomID)
        conversation.loader.keepsUnseen = true
        let joining = joinAgain(conversation)
        Task {
            await joining.value
            if wholeScreens[roomID] == nil { rooms.leave(roomID) }
        }
    }

    /// Tells the server whether the board is shown. If the network fails, the next connect does.
    private func joinAgain(_ conversation: Conversation) -> Task<Void, Never> {
        Task { [backing] in
            // The room may have been left meanwhile.
            guard conversation.isEntered else { return }
            try? await backing.joins.join(
                conversation.roomID, keepingUnseen: conversation.loader.keepsUnseen)
        }
    }

    /// Closes the room for one screen. When the last screen closes it, the room is left.
    ///
    /// Returns when the messages are cached, without waiting for the server.
    package func close(_ conversation: Conversation, isWhole: Bool = true) async {
        let roomID = conversation.roomID
        guard conversations[roomID] === conversation, let count = screens[roomID], count > 0 else { return }
        screens[roomID] = count - 1
        if isWhole { hideWhole(conversation) }
        if count == 1 { await leave(conversation) }
    }

    private func leave(_ conversation: Conversation) async {
        let roomID = conversation.roomID
        (screens[roomID], wholeScreens[roomID]) = (0, nil)
        rooms.beginLeaving(roomID)
        let before = conversation.visit
        let leaving = await conversation.leave()
        // A screen may have opened the room meanwhile. If that screen has closed too, its own `leave` does
        // the rest. If it shows only messages, the board is left all the same.
        guard conversations[roomID] === conversation, screens[roomID] == 0, conversation.visit - before <= 1
        else {
            if wholeScreens[roomID] == nil { rooms.leave(roomID) }
            return
        }
        (conversations[roomID], screens[roomID]) = (nil, nil)
        Task {
            await leaving?.value
            // A screen may have opened the board meanwhile.
            if wholeScreens[roomID] == nil { rooms.leave(roomID) }
        }
    }

    func apply(_ update: SocketUpdate) { for conversation in conversations.values { conversation.apply(update) } }

    /// Notes that rooms have changed: with their people, it changes who has to read messages.
    func noteRooms() {
        for (roomID, conversation) in conversations {
            if let room = rooms[roomID] { conversation.setReadership(Readership(of: room)) }
        }
    }

    /// Ends the conversation of a room that the person is no longer in. A screen that opens the room again gets a new
    /// one, because this one stays empty.
    func forget(_ roomID: String, because reason: ClientFailure) async {
        (screens[roomID], wholeScreens[roomID]) = (nil, nil)
        // Until the cached messages are removed, nobody may take them as those of a room that has become the person's again.
        backing.fresh.noteStale(roomID)
        await conversations.removeValue(forKey: roomID)?.end(because: reason)
        await backing.cache.remove(roomID)
    }

    /// Notes a sign-out: rooms that are opened from now on stay empty.
    func noteEnd() { isEnded = true }

    /// Leaves all rooms.
    func leaveAll() async { for conversation in all { await leave(conversation) } }
}
