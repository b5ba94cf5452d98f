extension RoomsClient {
    /// Opens a room's board, and with it the room: its events keep both up to date.
    ///
    /// - Returns: for all screens of one room the same. Each has to ``close(_:)-(Board)`` it.
    public func openBoard(_ room: Room) -> Board {
        _ = open(room)
        let board = makeBoard(of: room.id)
        if !isSignedOut { board.noteOpened() }
        return board
    }

    /// The board's screen is gone. What is not sent goes on being sent.
    public func close(_ board: Board) async {
        board.noteClosed()
        await board.keepAll()
        if board.isSpare, boards[board.roomID] === board { boards[board.roomID] = nil }
        guard let conversation = openConversation(of: board.roomID) else { return }
        await close(conversation)
    }
}
