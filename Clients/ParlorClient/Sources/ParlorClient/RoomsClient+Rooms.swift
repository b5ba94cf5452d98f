// A room is open while at least one screen shows it.
extension RoomsClient {
    /// Opens a room's conversation for one screen.
    ///
    /// - Returns: the same conversation for all screens of a room. Each screen has to ``close(_:)-(Conversation)`` it
    ///   once; ``OpenRoom`` does.
    package func openConversation(_ room: Room) -> Conversation {
        let conversation =
            open[room.id]
            ?? Conversation(
                roomID: room.id, ownID: user.id, participantIDs: Set(room.participants.map(\.userID)),
                isBehind: isBehind,
                backing: backing, settings: conversationSettings)
        if isSignedOut { return conversation }
        conversation.onUnknownRoom = { [weak rooms] in rooms?.check(room.id) }
        conversation.reader.unreadCount = { [counts = rooms.counts] in counts.latest(of: room.id)?.unreadMessages }
        conversation.reader.onEnd = { [weak rooms] in rooms?.noteEnd($0, of: room.id) }
        open[room.id] = conversation
        screens[room.id, default: 0] += 1
        if screens[room.id] == 1 {
            conversation.loader.unreadAtOpening =
                rooms.counts.latest(of: room.id)?.unreadMessages ?? room.badges.messages
            rooms.enter(room.id)
        }
        conversation.beginVisit()
        return conversation
    }

    /// Closes the room for one screen. When the last screen closes it, the client leaves the room.
    ///
    /// Returns when the messages are cached, without waiting for the server.
    package func close(_ conversation: Conversation) async {
        let roomID = conversation.roomID
        guard open[roomID] === conversation, let count = screens[roomID], count > 0 else { return }
        screens[roomID] = count - 1
        if count == 1 { await leave(conversation) }
    }

    func leave(_ conversation: Conversation) async {
        let roomID = conversation.roomID
        screens[roomID] = 0
        rooms.beginLeaving(roomID)
        // The conversation stays registered while it leaves, so opening the room again creates no second one
        // that writes the same files.
        let before = conversation.visit
        let leaving = await conversation.leave()
        // A screen may have opened the room meanwhile. If that screen has closed too, its own `leave` does
        // the rest.
        guard open[roomID] === conversation, screens[roomID] == 0, conversation.visit - before <= 1 else { return }
        (open[roomID], screens[roomID]) = (nil, nil)
        Task {
            await leaving?.value
            // A screen may have opened the room meanwhile.
            if open[roomID] == nil { rooms.leave(roomID) }
        }
    }

    func openConversation(of roomID: String) -> Conversation? { open[roomID] }

    func makeBoard(of roomID: String) -> Board {
        if let board = boards[roomID] { return board }
        let board = Board(
            roomID: roomID, ownID: user.id, isBehind: isBehind, server: stoppableAPI, files: boardFiles, clock: clock)
        board.sender.log = log
        board.sender.onUnknownRoom = { [weak rooms] in rooms?.check(roomID) }
        board.sender.onSent = { [weak self, weak board] in
            // A board that was made to send the changes of an earlier run is not needed any more.
            guard let board, board.isSpare else { return }
            Task {
                await board.keepAll()
                self?.dropIfSpare(board)
            }
        }
        if !isSignedOut { boards[roomID] = board }
        return board
    }

    /// Deletes all local data of a room that the person is no longer in, and ends its board and conversation.
    func forget(_ roomID: String) async {
        await boards.removeValue(forKey: roomID)?.end(because: .roomGone)
        await boardFiles.remove(roomID)
        // A screen that opens the room again gets a new conversation, because this one stays empty.
        screens[roomID] = nil
        await open.removeValue(forKey: roomID)?.end()
        await backing.cache.remove(roomID)
        await outbox.removeAll(in: roomID)
        drafts.removeAll(in: roomID)
    }
}
