// Rooms that screens show: each is open while one of them does.
extension RoomsClient {
    /// Opens a room: its conversation shows what is kept at once, and what the server has as soon as it answers; its badge of
    /// elements is gone.
    ///
    /// - Returns: for all screens of one room the same. Each has to ``close(_:)`` it.
    public func open(_ room: Room) -> Conversation {
        let conversation =
            open[room.id]
            ?? Conversation(
                roomID: room.id, ownID: user.id, participantIDs: Set(room.participants.map(\.userId)), isAway: isAway,
                backing: backing, settings: conversationSettings)
        if isSignedOut { return conversation }
        conversation.unreadCount = { [counts = rooms.counts] in counts.latest(of: room.id)?.unreadMessages }
        open[room.id] = conversation
        screens[room.id, default: 0] += 1
        if screens[room.id] == 1 {
            conversation.unreadAtOpening = rooms.counts.latest(of: room.id)?.unreadMessages ?? room.badges.messages
            rooms.enter(room.id)
        }
        conversation.beginVisit()
        return conversation
    }

    /// The room's screen is gone. With the last one the room is left; the network is not waited for.
    public func close(_ conversation: Conversation) async {
        let roomID = conversation.roomID
        guard open[roomID] === conversation, let count = screens[roomID], count > 0 else { return }
        screens[roomID] = count - 1
        if count == 1 { await leave(conversation) }
    }

    func leave(_ conversation: Conversation) async {
        let roomID = conversation.roomID
        screens[roomID] = 0
        rooms.beginLeaving(roomID)
        // Until it is done it is the room's conversation: opened again meanwhile, no second one writes beside it.
        let before = conversation.visit
        let leaving = await conversation.leave()
        // Opened again meanwhile it stays; closed again, too, the rest is for that closing.
        guard open[roomID] === conversation, screens[roomID] == 0, conversation.visit - before <= 1 else { return }
        (open[roomID], screens[roomID]) = (nil, nil)
        Task {
            await leaving?.value
            // Somebody may have come back meanwhile.
            if open[roomID] == nil { rooms.leave(roomID) }
        }
    }

    func openConversation(of roomID: String) -> Conversation? { open[roomID] }

    func makeBoard(of roomID: String) -> Board {
        if let board = boards[roomID] { return board }
        let board = Board(
            roomID: roomID, ownID: user.id, isAway: isAway, server: stoppableAPI, files: boardFiles, clock: clock)
        if !isSignedOut { boards[roomID] = board }
        return board
    }

    /// A room that one is no longer part of leaves no trace.
    func forget(_ roomID: String) async {
        await boards.removeValue(forKey: roomID)?.end()
        await boardFiles.remove(roomID)
        await open[roomID]?.end()
        await backing.cache.remove(roomID)
        await outbox.removeAll(in: roomID)
    }
}
