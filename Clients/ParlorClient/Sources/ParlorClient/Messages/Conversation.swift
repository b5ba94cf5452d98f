import Foundation
import Observation

/// The live messages of one room, and the actions of a screen that shows them.
///
/// An ``OpenRoom`` has it. It first shows cached messages, with ``isVerified`` false, and then the server's. From then
/// on events keep them up to date. Own messages appear at once, and are sent as soon as the server can be reached.
///
/// ``version`` rises with every change of ``items``, and only then. Do not use it as the identity of a view: a list
/// whose identity changes loses its scroll position, here with each receipt.
@MainActor
@Observable
public final class Conversation {
    /// The settings of a conversation.
    package struct Settings: Sendable {
        /// The number of messages in the first page, and in each older one.
        package var pageSize = 50
        /// The number of messages after which a refresh fetches no more pages.
        ///
        /// On entering, and if the server cannot replay what was missed, a refresh fetches the shown messages again,
        /// newest first. Older ones beyond this limit are removed, and come back with ``Conversation/loadOlder()``.
        package var refetchLimit = 1_000
        /// The number of messages in each later page of a refresh: the server's maximum.
        package var refetchPageSize = 200
        /// The time to wait for a message that is missing between others, before it is fetched.
        package var gapPause: Duration = .milliseconds(500)
        /// The first bound of the pause before a failed fetch is repeated. Each pause is random, up to the bound, and
        /// each failure doubles the bound. A connection that comes earlier ends the pause.
        package var retryPause: Duration = .seconds(5)
        /// The maximum of that bound.
        package var longestPause: Duration = .seconds(30)
        /// The time within which replayed events are shown together.
        package var catchUpPause: Duration = .milliseconds(100)
        /// The time within which changes are written to the cache together.
        package var cachePause: Duration = .milliseconds(500)

        package init() {}
    }

    public let roomID: String
    /// The id of the signed-in person.
    public let ownID: String

    /// The messages, in order: the server's, then the person's that are not sent yet.
    public var items: MessageItems { timeline.items }
    /// Rises with every change of ``items``.
    public var version: Int { timeline.version }
    /// True if everything shown comes from the server, and every change arrives as an event. If false, messages may be
    /// missing or out of date.
    public var isVerified: Bool { loading.isVerified }
    /// True while the shown messages are being fetched.
    public var isLoading: Bool { loading.isLoading }
    /// True while ``loadOlder()`` is fetching a page.
    public var isLoadingOlder: Bool { loader.isLoadingOlder }
    /// True if the server has messages before the first one here.
    public var hasOlder: Bool { timeline.hasOlder }
    /// The reason why the last fetch failed; nil if it succeeded. The messages stay, unless the room itself is gone.
    public var failure: ClientFailure? { loading.failure }
    /// The others who are typing, in the order they began.
    public private(set) var typistIDs: [String] = []
    /// The first message that was unread when the room was loaded in this visit; nil if there was none.
    public var firstUnread: MessageItem.ID? { loader.firstUnread }

    private(set) var isEntered = false
    var isFetched: Bool { loading.isFetched }
    /// Called if the server refuses a join or a page because it does not know the room.
    @ObservationIgnored var onUnknownRoom: @MainActor () -> Void = {}
    @ObservationIgnored let typing: TypingSignal
    @ObservationIgnored let timeline: Timeline
    @ObservationIgnored let loading: Loading
    @ObservationIgnored let loader: MessageLoader
    @ObservationIgnored let reader: MessageReader
    @ObservationIgnored let sending: MessageSending
    /// Counts enters and leaves, so that a superseded one can be noticed.
    @ObservationIgnored private(set) var visit = 0
    @ObservationIgnored private let caching: MessageCaching
    @ObservationIgnored private let backing: MessageBacking
    @ObservationIgnored let settings: Settings
    @ObservationIgnored private var typists: Typists
    /// Counts the room's events. One that comes before the cache is read may change nothing that is shown yet.
    @ObservationIgnored private var eventCount = 0
    /// The id under which this conversation follows the outbox.
    @ObservationIgnored private var follower: Int?

    /// Creates the conversation of a room. ``RoomsClient/open(_:)`` does so for an app.
    ///
    /// - Parameters:
    ///   - readership: the people who have to read a message before it counts as read.
    ///   - isBehind: false if the socket is connected and `SocketUpdate.recovered` has already arrived.
    package init(
        roomID: String, ownID: String, readership: Readership = Readership(), isBehind: Bool = false,
        backing: MessageBacking, settings: Settings = Settings()
    ) {
        self.roomID = roomID
        self.ownID = ownID
        self.backing = backing
        self.settings = settings
        timeline = Timeline(
            MessageStore(roomID: roomID, ownID: ownID, readership: readership),
            catchUpPause: settings.catchUpPause, clock: backing.clock)
        loading = Loading(
            isBehind: isBehind, backoff: Backoff(from: settings.retryPause, upTo: settings.longestPause),
            clock: backing.clock, random: backing.random)
        loader = MessageLoader(
            roomID: roomID, timeline: timeline, loading: loading, backing: backing, settings: settings)
        reader = MessageReader(roomID: roomID, timeline: timeline, loading: loading, backing: backing)
        sending = MessageSending(roomID: roomID, timeline: timeline, backing: backing)
        caching = MessageCaching(
            roomID: roomID, timeline: timeline, loader: loader, backing: backing, pause: settings.cachePause)
        typists = Typists(ownID: ownID)
        typing = TypingSignal(roomID: roomID, server: backing.server, clock: backing.clock)
        connectParts()
    }

    private func connectParts() {
        // `weak`: the parts hold each other.
        timeline.onChange = { [weak sending, weak loader] settled in
            sending?.noteStored(settled)
            loader?.fillGapSoon()
        }
        timeline.onShow = { [weak caching] in caching?.writeSoon() }
        sending.onDoubt = { [weak self] in self?.beginRefresh() }
        loading.fetch = { [weak loader] in try await loader?.fetchShown() }
        loading.onOutdated = { [weak loader] in loader?.noteOutdated() }
        loading.onFetched = { [weak loader, weak caching] in
            loader?.noteFetched()
            caching?.writeSoon()
        }
        loading.onFailure = { [weak self] failure in
            guard let self, failure.isRoomGone else { return }
            // Stored messages can be fetched again. Unsent ones stay until the loss is confirmed.
            timeline.change { $0.removeAllStored() }
            Task { [cache = backing.cache, roomID] in await cache.remove(roomID) }
            onUnknownRoom()
        }
    }

    // MARK: Visits

    /// Enters the room: shows cached messages, and then the server's.
    ///
    /// Returns when the server has answered, or ``failure`` has the reason why it has not. A retryable failure is
    /// retried after a pause, or with the next connection. Does nothing if the room is already entered.
    package func enter() async { await beginVisit()?.value }

    /// Enters the room before it returns, so that a ``leave()`` right after it takes effect.
    ///
    /// - Returns: the task that shows the room; nil if the room is already entered.
    @discardableResult
    func beginVisit() -> Task<Void, Never>? {
        guard !isEntered, !timeline.isEnded else { return nil }
        isEntered = true
        // What was shown last time may still be on its way to the cache.
        let isCacheBehind = caching.isBehind
        visit += 1
        return Task { [visit, version = timeline.store.version, eventCount] in
            await show(for: visit, from: version, eventCount: eventCount, isCacheBehind: isCacheBehind)
        }
    }

    /// - Parameters:
    ///   - entered: the visit.
    ///   - enteredVersion: the version of the store when the room was entered.
    ///   - enteredCount: the value of `eventCount` when the room was entered.
    ///   - isCacheBehind: true if the cache may have lacked something from the last visit when the room was entered.
    private func show(
        for entered: Int, from enteredVersion: Int, eventCount enteredCount: Int, isCacheBehind: Bool
    ) async {
        guard visit == entered else { return }
        let cached = await backing.cache.open(roomID)
        guard visit == entered else { return }
        let hasChanged =
            isCacheBehind || loading.isFetched || timeline.store.version != enteredVersion
            || eventCount != enteredCount
        // Below a page that has come meanwhile, cached messages would be shown without those in between.
        if !loading.isFetched { timeline.change { $0.showCached(cached.messages) } }
        // If something has changed, the cache lacks what came before it was read. It has to be written again.
        caching.noteRead(cached, lacksChanges: hasChanged)
        let cachedStoreVersion = timeline.store.version
        let cursor = await backing.server.connectionCursor()
        guard visit == entered else { return }
        loader.freshPage = backing.fresh.page(of: cached, in: roomID, on: cursor)
        let follower = await backing.outbox.follow(roomID) { [weak self] change in self?.sending.take(change) }
        guard visit == entered else { return await backing.outbox.unfollow(follower, in: roomID) }
        self.follower = follower
        // If something has changed, the cached page lacks what an event has brought. A fetch with that page would drop
        // it, so a page has to come from the server.
        if hasChanged || timeline.store.version != cachedStoreVersion { loader.freshPage = nil }
        await refresh()
    }

    /// Leaves the room. Call it when the room's screen is closed. Events are no longer applied. The shown messages stay
    /// for the next visit, and messages that are not sent yet are still sent.
    ///
    /// Returns when the shown messages are cached, without waiting for the server. If the room is entered again
    /// meanwhile, it stays entered.
    ///
    /// - Returns: a task that ends when the request to leave has succeeded or failed; nil if the room was not entered,
    ///   or is entered again.
    @discardableResult
    package func leave() async -> Task<Void, Never>? {
        guard isEntered else { return nil }
        timeline.show()
        let newest = caching.newest
        isEntered = false
        visit += 1
        sending.noteLoss()
        loading.end()
        loader.leave()
        typing.stopped()
        reader.stop()
        typists.removeAll()
        typistIDs = []
        let left = visit
        let follower = follower
        self.follower = nil
        // A message that was just typed is in the outbox when this returns.
        await sending.keepAll()
        if let follower { await backing.outbox.unfollow(follower, in: roomID) }
        // If anything has changed since then, such as a message that was stored meanwhile, it may have come after
        // missed events. The step of `newest` then no longer holds.
        await caching.write(newest.version == version && visit == left ? newest : nil)
        guard visit == left else { return nil }
        let leaving = backing.joins.leave(roomID)
        Task { [receipts = backing.receipts] in
            await leaving.value
            await receipts.flush()
        }
        return leaving
    }

    /// Leaves the room for good, and removes all its messages from the screen: the person is no longer in it. From now
    /// on nothing can be sent, and nothing that arrives late is shown.
    func end(because reason: ClientFailure) async {
        loading.failure = reason
        timeline.end()
        await leave()
    }

    func setReadership(_ readership: Readership) {
        if readership != timeline.store.readership { timeline.change { $0.readership = readership } }
    }

    /// Writes typed messages and the cache to disk, and sends the end of typing and the read receipts. Call it when the
    /// app goes to the background, unless ``RoomsClient/enterBackground(within:)`` does all of that.
    package func enterBackground() async {
        await keepAll()
        await typing.settle()
        await backing.receipts.flush()
    }

    /// Returns when the typed messages and the cache are on disk. It also ends the typing.
    func keepAll() async {
        typing.stopped()
        timeline.show()
        await sending.keepAll()
        await caching.write()
    }

    // MARK: Loading

    /// Fetches the page before the first message. On an error, it sets ``failure``.
    ///
    /// Does nothing if there is no older page, if one is being fetched, or if the newest page was not fetched yet.
    public func loadOlder() async { await loader.loadOlder() }

    /// Fetches the shown messages again. The conversation does so itself on entering, and when events may be missing.
    ///
    /// A new call restarts the fetch, because pages fetched so far may be older than the missing events, and
    /// the request in progress may wait for a dead connection. Returns when the last fetch ends.
    public func refresh() async { if isEntered { await loading.refresh() } }

    private func beginRefresh() { if isEntered { loading.begin() } }

    // MARK: Events

    /// Applies an update of the socket. Call it with every update, in order.
    ///
    /// It ignores events of other rooms, and all events while the room is not entered.
    package func apply(_ update: SocketUpdate) {
        switch update {
        case .connecting: break
        case .event(let event): apply(event)
        case .connected:
            // A fetch that is in progress began without a connection, so it starts again.
            if !loading.isFetched { beginRefresh() }
        case .recovered(let isWhole):
            timeline.show()
            loading.isBehind = false
            if !isWhole { sending.noteLoss() }
            if !isWhole || !loading.isFetched {
                beginRefresh()
            } else if loading.isJoined {
                loader.noteRecovered()
                caching.writeSoon()
            }
        case .refusedRoom(roomID, _):
            // The fetch joins the room once more, and shows why that fails.
            loading.noteRefusedJoin()
            beginRefresh()
        case .refusedRoom, .joined: break
        case .disconnected:
            loading.isBehind = true
            loader.freshPage = nil
            typists.removeAll()
            showTypists()
        }
    }

    /// Applies an event of the server. It ignores events of other rooms.
    package func apply(_ event: RoomEvent) {
        guard isEntered else { return }
        if event.messageRoomID == roomID {
            eventCount += 1
            // Missed events are shown together: those that a reconnect or a join replays.
            if loading.isBehind || loader.joinCount > 0 {
                timeline.changeSoon { $0.apply(event) }
            } else {
                timeline.change { $0.apply(event) }
            }
        }
        switch event {
        case .messageNew(let message) where message.roomID == roomID:
            reader.noteArrival(of: message)
            typists.end(message.senderID)
            showTypists()
        case .typing(roomID, let userID, let isTyping):
            typists.note(userID, isTyping: isTyping)
            showTypists()
        default: break  // of another room, or not shown here
        }
    }

    private func showTypists() {
        if typistIDs != typists.userIDs { typistIDs = typists.userIDs }
    }
}

// The actions of a screen.
extension Conversation {
    /// Shows a message at once, and sends it now or when the server can be reached. White space around it is removed.
    ///
    /// - Returns: the item's id. It is nil, and nothing is sent, if nothing is left of the text, if it is too long
    ///   (``MessageText/canBeSent(_:)``), or if the room is gone, as ``failure`` then says. Such a text has to stay in
    ///   its field.
    @discardableResult
    public func send(_ text: String) -> MessageItem.ID? {
        guard MessageText.canBeSent(text), !timeline.isEnded else { return nil }
        typing.stopped()
        return sending.send(MessageText.sent(text))
    }

    /// Sends a failed message again, under the same `tempID`.
    public func retry(_ id: MessageItem.ID) async {
        _ = await backing.outbox.retry(id, in: roomID)  // without effect if the outbox no longer has the message
    }

    /// Discards a message that is not sent yet.
    ///
    /// - Returns: false if the message is being sent or already stored; once it is stored, ``delete(_:)`` removes it.
    ///   Also false if the device cannot delete the message. The message has then failed with `not_discarded`.
    @discardableResult
    public func discard(_ id: MessageItem.ID) async -> Bool { await backing.outbox.discard(id, in: roomID) }

    /// Discards a message that is not sent yet, so that its text can be edited.
    ///
    /// - Returns: its text; nil if it cannot be discarded, as ``discard(_:)`` says, or was discarded before.
    public func takeBack(_ id: MessageItem.ID) async -> String? {
        guard let text = items.last(where: { $0.id == id })?.pending?.text, await discard(id) else { return nil }
        return text
    }

    /// Deletes one of the person's own messages for everyone. It disappears when the server has confirmed the deletion.
    /// Does nothing if the server has not stored the message.
    ///
    /// - Throws: `ClientFailure` or `CancellationError`. It is no error if the message is already deleted.
    public func delete(_ id: MessageItem.ID) async throws {
        guard let messageID = items.last(where: { $0.id == id })?.message?.id else { return }
        do {
            try await backing.server.deleteMessage(messageID, in: roomID)
        } catch ClientFailure.refused(let refusal) where refusal.code == "message_not_found" {
            // Another device deleted it first, or an earlier reply was lost.
        }
        timeline.change { $0.delete(messageID) }
    }

    /// Notes that the person changed the text. The others then see that the person is typing.
    public func typed() { typing.typed() }

    /// Notes that the text is empty again, or no longer edited.
    public func stoppedTyping() { typing.stopped() }

    /// Notes that items appeared on the screen. A row calls it when it appears.
    ///
    /// Unread messages of others that stay for half a second are marked as read. While the room loads, the half second
    /// starts again, because new pages push items across the screen.
    public func noteVisible(_ items: some Sequence<MessageItem>) { if isEntered { reader.noteVisible(Array(items)) } }

    /// Notes that items left the screen. A row calls it when it disappears.
    public func noteHidden(_ items: some Sequence<MessageItem>) { reader.noteHidden(items) }

    /// Sets the items that are on the screen, for an interface that always draws the whole screen.
    public func setVisible(_ items: some Sequence<MessageItem>) { if isEntered { reader.setVisible(Array(items)) } }

    /// Marks all messages of the room as read, for example for a button. It fetches older messages that are not loaded,
    /// which may take several requests.
    ///
    /// Receipts are sent now, or as soon as the server can be reached.
    ///
    /// - Throws: `ClientFailure` or `CancellationError` if messages that are not loaded cannot be fetched. Those found
    ///   before are still marked.
    public func markAllRead() async throws { try await reader.markAllRead(pageSize: settings.refetchPageSize) }
}
