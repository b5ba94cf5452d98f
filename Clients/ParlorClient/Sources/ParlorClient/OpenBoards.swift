/// The boards that screens show, and those whose changes are still to be sent.
@MainActor
package final class OpenBoards {
    private let user: Person
    private let server: any ElementServer
    let files: BoardFiles
    private let clock: any ClientClock
    private let log: ClientLog
    /// Called with a room that the server does not know.
    private let onUnknownRoom: @MainActor (String) -> Void
    private var boards: [String: Board] = [:]
    private var isEnded = false

    init(
        of user: Person, server: any ElementServer, files: BoardFiles, clock: any ClientClock, log: ClientLog,
        onUnknownRoom: @escaping @MainActor (String) -> Void
    ) {
        self.user = user
        self.server = server
        self.files = files
        self.clock = clock
        self.log = log
        self.onUnknownRoom = onUnknownRoom
    }

    var all: [Board] { Array(boards.values) }

    package subscript(roomID: String) -> Board? { boards[roomID] }

    /// Opens the board of an open room for one screen. The room's events keep the board up to date.
    ///
    /// - Parameter isBehind: whether missed events are still to come.
    /// - Returns: the same board for all screens of a room. Each screen has to ``close(_:)`` it, and then its
    ///   conversation.
    func open(of conversation: Conversation, isBehind: Bool) -> Board {
        let board = board(of: conversation.roomID, isBehind: isBehind)
        board.isRoomJoined = { [weak conversation] in conversation?.loading.isJoined ?? false }
        if !isEnded { board.noteOpened() }
        return board
    }

    /// Closes the board for one screen. Unsent changes are still sent.
    package func close(_ board: Board) async {
        board.noteClosed()
        await board.keepAll()
        dropIfSpare(board)
    }

    /// Sends the changes that an earlier run has stored, even if no screen shows their boards.
    ///
    /// - Parameters:
    ///   - isBehind: whether missed events are still to come.
    ///   - isWanted: whether to go on.
    func sendStored(isBehind: () -> Bool, while isWanted: () -> Bool) async {
        for roomID in await files.roomsWithChanges() where isWanted() { _ = board(of: roomID, isBehind: isBehind()) }
    }

    private func board(of roomID: String, isBehind: Bool) -> Board {
        if let board = boards[roomID] { return board }
        let board = Board(
            roomID: roomID, ownID: user.id, isBehind: isBehind, server: server, files: files, clock: clock)
        board.sender.log = log
        board.sender.onUnknownRoom = { [onUnknownRoom] in onUnknownRoom(roomID) }
        board.sender.onSent = { [weak self, weak board] in
            // A board that was made to send the changes of an earlier run is not needed any more.
            guard let board, board.isSpare else { return }
            Task {
                await board.keepAll()
                self?.dropIfSpare(board)
            }
        }
        if !isEnded { boards[roomID] = board }
        return board
    }

    /// Drops a board that no screen shows and that has nothing to send. It has to be on disk.
    private func dropIfSpare(_ board: Board) {
        if board.isSpare, boards[board.roomID] === board { boards[board.roomID] = nil }
    }

    func apply(_ update: SocketUpdate) { for board in boards.values { board.apply(update) } }

    /// Sends moves that wait for the next position of a drag.
    func releaseMoves() { for board in boards.values { board.sender.releaseMoves() } }

    /// Returns the number of changes and conflicts, including those of boards that have not read their files yet.
    ///
    /// - Throws: the file system's error; the refusal `not_forgotten`.
    func unsentCount() async throws -> Int {
        let restored = Set(boards.filter(\.value.isRestored).keys)
        let stored = try await files.unsentCounts(besides: restored)
        // A board may have read its file meanwhile.
        return stored.reduce(0) { $0 + (boards[$1.key]?.isRestored == true ? 0 : $1.value) }
            + boards.values.reduce(0) { $0 + $1.unsentCount + $1.conflicts.count }
    }

    /// Removes the board of a room that the person is no longer in.
    func forget(_ roomID: String, because reason: ClientFailure) async {
        await boards.removeValue(forKey: roomID)?.end(because: reason)
        await files.remove(roomID)
    }

    /// Notes a sign-out: boards that are opened from now on stay empty.
    func noteEnd() { isEnded = true }

    /// Ends all boards. What is not sent yet stays on disk.
    func end() async { for board in boards.values { await board.end() } }

    /// Ends all boards after a sign-out, and removes their files.
    ///
    /// - Throws: the file system's error.
    func removeAll() async throws {
        for board in boards.values { await board.end(because: .signedOut) }
        boards = [:]
        try await files.removeAll()
    }
}
