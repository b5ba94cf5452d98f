extension RoomsClient {
    /// Opens the board of an open room for one screen. The room's events keep the board up to date.
    ///
    /// - Returns: the same board for all screens of a room. Each screen has to ``close(_:)-(Board)`` it, and then its
    ///   conversation.
    func openBoard(of conversation: Conversation) -> Board {
        let board = makeBoard(of: conversation.roomID)
        board.isRoomJoined = { [weak conversation] in conversation?.loading.isJoined ?? false }
        if !isSignedOut { board.noteOpened() }
        return board
    }

    /// Closes the board for one screen. Unsent changes are still sent.
    func close(_ board: Board) async {
        board.noteClosed()
        await board.keepAll()
        dropIfSpare(board)
    }

    /// Drops a board that no screen shows and that has nothing to send. It has to be on disk.
    func dropIfSpare(_ board: Board) {
        if board.isSpare, boards[board.roomID] === board { boards[board.roomID] = nil }
    }
}
