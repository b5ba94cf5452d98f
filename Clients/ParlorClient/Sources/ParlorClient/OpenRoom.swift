/// A room that a screen has open: its chat and, once it is asked for, its board.
///
/// ``RoomsClient/open(_:)`` makes one for each screen. The room is open as long as one of them is: the person is present
/// there, and its events arrive. ``close()``, or the release of this object, closes it for its screen.
///
/// ```swift
/// .onAppear { opened = client.open(room) }
/// .onDisappear { opened = nil }
/// ```
@MainActor
public final class OpenRoom {
    /// The chat, which all screens of the room share.
    public let conversation: Conversation
    private let client: RoomsClient
    private let isWhole: Bool
    private var shownBoard: Board?
    private var closing: Task<Void, Never>?

    /// - Parameter isWhole: false for a screen that shows only messages: the board's badge stays.
    init(_ room: Room, of client: RoomsClient, isWhole: Bool = true) {
        conversation = client.openConversation(room, isWhole: isWhole)
        self.client = client
        self.isWhole = isWhole
    }

    public var roomID: Room.ID { conversation.roomID }

    /// The board, which all screens of the room share. The first use opens it: its elements are fetched, and events keep
    /// them up to date until this room is closed. A screen asks for it when it appears, not while it draws.
    public var board: Board {
        if let shownBoard { return shownBoard }
        let board = client.openBoard(of: conversation)
        if closing == nil { shownBoard = board } else { Task { await client.local.boards.close(board) } }
        return board
    }

    /// Closes the room for this screen, and returns at once. A second call does nothing.
    ///
    /// What is shown stays, but changes only while another screen has the room open. Unsent messages and board changes
    /// are still sent. ``RoomsClient/enterBackground(within:)`` waits until everything is on disk.
    public func close() {
        guard closing == nil else { return }
        closing = Self.close(conversation, shownBoard, of: client, isWhole: isWhole)
    }

    /// Closes the room, and returns when its messages and board changes are on disk.
    package func closeAndKeep() async {
        close()
        await closing?.value
    }

    private nonisolated static func close(
        _ conversation: Conversation, _ board: Board?, of client: RoomsClient, isWhole: Bool
    ) -> Task<Void, Never> {
        Task { @MainActor in
            if let board { await client.local.boards.close(board) }
            await client.local.conversations.close(conversation, isWhole: isWhole)
        }
    }

    deinit { if closing == nil { _ = Self.close(conversation, shownBoard, of: client, isWhole: isWhole) } }
}
