/// The requests of conversations. ``ServerConnection`` sends them for a ``RoomsClient``.
///
/// The calls throw `ClientFailure` or `CancellationError`.
package protocol MessageServer: Sendable {
    /// Joins a room. When this returns, events of the room arrive until ``leave(_:)``, also after reconnects.
    ///
    /// Without a connection it returns at once, and the room is joined at the next connect.
    ///
    /// - Parameter keepingUnseen: true if the board's badge stays, because the room's board is not shown.
    /// - Throws: the server's refusal. If that is retryable, the room is joined later.
    func join(_ roomID: String, keepingUnseen: Bool) async throws

    /// Leaves a room: its events no longer arrive. A failure is ignored.
    func leave(_ roomID: String) async

    /// Returns a page of messages in ascending `seq`: the newest without a bound, the first with `after: 0`.
    func messages(in roomID: String, before: Int?, after: Int?, limit: Int) async throws -> Page<Message>

    /// Sends a message, and returns when the server has stored it. A repeat with the same `tempID` stores nothing,
    /// and returns the first message.
    func send(_ text: String, tempID: String, in roomID: String) async throws -> Message

    /// Deletes one of the person's own messages for everyone.
    func deleteMessage(_ id: String, in roomID: String) async throws

    /// Marks messages as read.
    ///
    /// - Parameter ids: at most 500.
    func markRead(_ ids: [String], in roomID: String) async throws

    /// Returns the cursor of this connection's `sync:done`, which also identifies the connection. It is nil without a
    /// connection, and until all missed events have arrived.
    ///
    /// When a room is joined on this connection, the server first sends the room's events since that cursor. If the
    /// room was left earlier on this connection, the server sends only the events since the room was left.
    func connectionCursor() async -> String?

    /// Sends the typing state once. If the end of the typing is lost, the server ends it after three seconds.
    func setTyping(_ isTyping: Bool, in roomID: String) async
}

extension MessageServer {
    package func connectionCursor() async -> String? { nil }
}
