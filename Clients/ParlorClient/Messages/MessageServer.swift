/// The requests of conversations. `RoomsClient` sends them over the socket while that is connected,
/// and over HTTP otherwise.
///
/// Every call throws `ClientFailure` or `CancellationError`.
public protocol MessageServer: Sendable {
    /// Joins a room. When this returns, events of the room arrive until ``leave(_:)``, also after reconnects.
    /// Without a connection it returns at once, and the room is joined at the next connect. It throws if the
    /// server refuses for now; the room is then joined later.
    func join(_ roomID: String) async throws

    func leave(_ roomID: String) async

    /// Returns messages in ascending `seq`: the newest page without a bound, the first with `after: 0`.
    func messages(in roomID: String, before: Int?, after: Int?, limit: Int) async throws -> Page<Message>

    /// Returns when the server has stored the message. A repeated `tempID` returns the first message and
    /// stores nothing.
    func send(_ text: String, tempID: String, in roomID: String) async throws -> Message

    func deleteMessage(_ id: String, in roomID: String) async throws

    /// - Parameter ids: at most 500.
    func markRead(_ ids: [String], in roomID: String) async throws

    /// Identifies a connection on which all missed events have arrived; nil without one. A room joined on it
    /// receives all of its events since then.
    func connectionCursor() async -> String?

    /// Sends the state once. If it is lost, the server ends the typing after three seconds.
    func setTyping(_ isTyping: Bool, in roomID: String) async
}

extension MessageServer {
    public func connectionCursor() async -> String? { nil }
}
