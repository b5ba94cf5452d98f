import Foundation

/// Fetches what the payload of a notification may lack: the whole text and current names. The server may be set to
/// send no text in payloads.
///
/// It is for a notification service extension, which runs whether or not the app does. Both share the session.
public struct NotificationLoader: Sendable {
    /// The longest wait for a refresh of the session that is still in progress when the message was fetched, or when
    /// its time limit is over. An extension has half a minute for the message and this wait.
    private static let longestRefresh: Duration = .seconds(20)
    /// The time limit of one request, in seconds.
    private static let requestTimeout: TimeInterval = 8
    /// The number of newest messages that are searched if the payload has no `seq`.
    private static let searchedMessages = 50

    private let api: RoomsAPI
    private let tokens: any TokenProvider
    private let clock: any ClientClock

    /// Creates a loader with the app's session.
    ///
    /// - Parameter place: the place that the app passes to its ``ParlorAccount``.
    public init(server: URL, sessionIn place: SessionPlace) {
        self.init(
            http: URLSessionTransport(base: server, timeout: Self.requestTimeout), sharedIn: place.store(server))
    }

    package init(http: any HTTPTransport, sharedIn store: any SessionStore, clock: any ClientClock = SystemClock()) {
        self.init(
            http: http,
            tokens: ExtensionTokens(sharedIn: store, accounts: AccountsAPI(transport: http), clock: clock),
            clock: clock)
    }

    package init(http: any HTTPTransport, tokens: any TokenProvider, clock: any ClientClock = SystemClock()) {
        api = RoomsAPI(transport: http, tokens: tokens)
        self.tokens = tokens
        self.clock = clock
    }

    /// Fetches the message and its room.
    ///
    /// If that fails or takes too long, or if nobody is signed in, the content is the payload's. If a refresh of the
    /// session is still in progress at the end, this waits up to 20 s more for it: a process that ends in the middle
    /// of a refresh may end the session.
    ///
    /// - Parameter limit: the time limit for the message and the room together.
    public func content(of pushed: PushedMessage, within limit: Duration = .seconds(5)) async -> NotificationContent {
        let content: NotificationContent
        do {
            content = try await within(limit, by: clock, else: "The server did not answer in time.") {
                try await fetch(pushed)
            }
        } catch {
            content = NotificationContent(pushed, .payload(ClientFailure(error)))
        }
        // If the refresh takes longer, the app repeats it later.
        try? await within(Self.longestRefresh, by: clock, else: "") { await tokens.settle() }
        return content
    }

    private func fetch(_ pushed: PushedMessage) async throws -> NotificationContent {
        async let answer = api.room(pushed.roomID)
        let message = try await message(pushed)
        let room = try await answer.room
        guard let message else { return NotificationContent(pushed, .deleted) }
        return NotificationContent(message, in: room, of: pushed)
    }

    /// Fetches the message; nil if it was deleted.
    ///
    /// - Throws: `ClientFailure.unreadable` if the payload has no `seq`, the message is not among the newest, and older
    ///   messages exist: it may be one of those.
    private func message(_ pushed: PushedMessage) async throws -> Message? {
        let page =
            if let seq = pushed.seq {
                try await api.messages(in: pushed.roomID, after: seq - 1, limit: 1)
            } else {
                try await api.messages(in: pushed.roomID, limit: Self.searchedMessages)
            }
        if let message = page.items.first(where: { $0.id == pushed.messageID }) { return message }
        guard pushed.seq != nil || page.next == nil else {
            throw ClientFailure.unreadable("the message is not among the newest")
        }
        return nil
    }
}
