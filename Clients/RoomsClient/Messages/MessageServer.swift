/// The requests of conversations. `RoomsClient` sends them over the socket while that is connected,
/// and over HTTP otherwise.
///
/// Every call throws `ClientFailure` or `CancellationError`.
public protocol MessageServer: Sendable {
    /// From its return on the room's events arrive, until ``leave(_:)``, and after every reconnect again without being asked.
    /// Without a connection it returns at once, and the room is joined with the next. It throws where the server refuses for now, too,
    /// and then the room is joined as soon as can be.
    func join(_ roomID: String) async throws

    func leave(_ roomID: String) async

    /// Ascending by `seq`. Without a bound the newest page; `after: 0` the first.
    func messages(in roomID: String, before: Int?, after: Int?, limit: Int) async throws -> Page<Message>

    /// Returns when the message is on the server's disk. The same `tempID` again stores nothing new, and returns the first.
    func send(_ text: String, tempID: String, in roomID: String) async throws -> Message

    func deleteMessage(_ id: String, in roomID: String) async throws

    /// - Parameter ids: at most 500.
    func markRead(_ ids: [String], in roomID: String) async throws

    /// Names the connection on which all that is missed is sent before anything new; nil without one. A room that is joined on it
    /// gets all that has happened in it since then.
    func connectionCursor() async -> String?

    /// Sent once and not repeated. If it is lost, the server ends the typing by itself after three
    /// seconds.
    func setTyping(_ isTyping: Bool, in roomID: String) async
}

extension MessageServer {
    public func connectionCursor() async -> String? { nil }
}
