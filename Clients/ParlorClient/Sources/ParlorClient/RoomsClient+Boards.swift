extension RoomsClient {
    /// Opens a room's board. This opens the room too, because its events keep the board up to date.
    ///
    /// - Returns: the same board for all screens of a room. Each screen has to ``close(_:)-(Board)`` it.
    public func openBoard(_ room: Room) -> Board {
        let conversation = open(room)
        let board = makeBoard(of: room.id)
        board.isRoomJoined = { [weak conversation] in conversation?.loading.isJoined ?? false }
        board.closeRoom = { [weak self, weak conversation] in
            if let conversation { await self?.close(conversation) }
        }
        if !isSignedOut { board.noteOpened() }
        return board
    }

    /// Closes the board for one screen. Unsent changes are still sent.
    public func close(_ board: Board) async {
        board.noteClosed()
        await board.keepAll()
        dropIfSpare(board)
        await board.closeRoom()
    }

    /// Drops a board that no screen shows and that has nothing to send. It has to be on disk.
    func dropIfSpare(_ board: Board) {
        if board.isSpare, boards[board.roomID] === board { boards[board.roomID] = nil }
    }
}
