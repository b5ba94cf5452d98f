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
    /// The parts that all conversations of one person share.
    package struct Backing: Sendable {
        package let server: any MessageServer
        package var outbox: Outbox
        package var cache: MessageCache
        package var receipts: ReadReceipts
        package var clock: any ClientClock
        /// Returns a new `tempID`, which must be unique.
        package var makeID: @Sendable () -> String
        /// Returns a number from 0 up to 1, which spreads the retries of many clients.
        package var random: @Sendable () -> Double
        let fresh = FreshRooms()
        let joins: RoomJoins

        package init(
            server: any MessageServer, outbox: Outbox, cache: MessageCache, receipts: ReadReceipts,
            clock: any ClientClock, makeID: @escaping @Sendable () -> String = { UUID().uuidString },
            random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
        ) {
            self.server = server
            joins = RoomJoins(server: server)
            self.outbox = outbox
            self.cache = cache
            self.receipts = receipts
            self.clock = clock
            self.makeID = makeID
            self.random = random
        }
    }

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
    public private(set) var items = MessageItems()
    /// Rises with every change of ``items``.
    public private(set) var version = 0
    /// True if everything shown comes from the server, and every change arrives as an event. If false, messages may be
    /// missing or out of date.
    public var isVerified: Bool { isFetched && isJoined && !isBehind }
    /// True once the last refresh has succeeded, until the next one starts or the room is left.
    var isFetched = false
    /// True if the last refresh could join the room. The server then sends the room's events on each connection.
    var isJoined = false
    /// True without a connection, and on a new one until all missed events have arrived.
    var isBehind: Bool
    /// The number of joins in progress. Before its ack of a join, the server sends the events since the room was left.
    @ObservationIgnored var joinCount = 0
    /// True while the shown messages are being fetched.
    public internal(set) var isLoading = false
    /// True while ``loadOlder()`` is fetching a page.
    public internal(set) var isLoadingOlder = false
    /// True if the server has messages before the first one here.
    public private(set) var hasOlder = false
    /// The reason why the last fetch failed; nil if it succeeded. The messages stay, unless the room itself is gone.
    public internal(set) var failure: ClientFailure?
    /// The others who are typing, in the order they began.
    public internal(set) var typistIDs: [String] = []
    /// The first message that was unread when the room was loaded in this visit; nil if there was none.
    public internal(set) var firstUnread: MessageItem.ID?
    /// The number of unread messages when the room was opened, according to the room list. The first refresh fetches
    /// pages until it has that many unread messages, or `refetchLimit` messages in all.
    @ObservationIgnored var unreadAtOpening = 0
    /// Returns the number of unread messages in the whole room, according to the room list; nil if unknown.
    @ObservationIgnored var unreadCount: @MainActor () -> Int? = { nil }
    /// The step of `FreshRooms` up to which all events are applied; nil if events may have been missed.
    @ObservationIgnored var verifiedStep: String?
    /// The cached messages as a page, if they are known to be current.
    @ObservationIgnored var freshPage: Page<Message>?
    @ObservationIgnored var visible = VisibleMessages()
    @ObservationIgnored var reading: Task<Void, Never>?

    @ObservationIgnored let backing: Backing
    @ObservationIgnored let settings: Settings
    @ObservationIgnored let typing: TypingSignal
    @ObservationIgnored var store: MessageStore
    @ObservationIgnored var typists: Typists
    var isEntered = false
    /// True once the person is no longer in the room.
    @ObservationIgnored private(set) var isEnded = false
    /// Called if the server refuses a join or a page because it does not know the room.
    @ObservationIgnored var onUnknownRoom: @MainActor () -> Void = {}
    /// True once a refresh has succeeded in this visit. From then on, a refresh fetches everything shown, also far below
    /// the newest page, and changes are cached.
    @ObservationIgnored var wasVerified = false
    /// Counts enters and leaves, so that a superseded one can be noticed.
    @ObservationIgnored private(set) var visit = 0
    /// Counts refreshes and leaves, so that the answer to an earlier request is ignored.
    @ObservationIgnored var epoch = 0
    /// Counts the room's events. One that comes before the cache is read may change nothing that is shown yet.
    @ObservationIgnored var eventCount = 0
    /// Counts the times when events may have been lost: each reconnect without a full replay, and each leave.
    @ObservationIgnored var losses = 0
    /// The value of `losses` when each message in flight was sent, by its `tempID`.
    @ObservationIgnored var sentAfter: [String: Int] = [:]
    @ObservationIgnored var refreshing: Task<Void, Never>?
    /// The pause before a failed refresh is repeated.
    @ObservationIgnored var retrying: Task<Void, Never>?
    /// The pauses between attempts to fetch.
    @ObservationIgnored var backoff: Backoff
    @ObservationIgnored var gapFilling: Task<Void, Never>?
    /// The typed messages that are not in the outbox yet.
    @ObservationIgnored var unkept: [PendingMessage] = []
    /// The task that hands them to the outbox.
    @ObservationIgnored var keeping: Task<Void, Never>?
    /// The version of `store` that `items` shows.
    @ObservationIgnored private var shownVersion = 0
    /// The pause before replayed changes are shown together.
    @ObservationIgnored private var showing: Task<Void, Never>?
    /// The pause before changes are written to the cache.
    @ObservationIgnored private var caching: Task<Void, Never>?
    /// The version of `items` that the cache has.
    @ObservationIgnored private var cachedVersion = 0
    /// The step with which the cache was written.
    @ObservationIgnored private var cachedStep: String?
    /// True once the cached messages have been read. An earlier write could replace them with fewer.
    @ObservationIgnored private var isCacheShown = false
    /// The id under which this conversation follows the outbox.
    @ObservationIgnored private var follower: Int?

    /// Creates the conversation of a room. ``RoomsClient/open(_:)`` does so for an app.
    ///
    /// - Parameters:
    ///   - participantIDs: the participants of the room, all of whom have to read a message before it counts as read;
    ///     nil if unknown.
    ///   - isBehind: false if the socket is connected and `SocketUpdate.recovered` has already arrived.
    package init(
        roomID: String, ownID: String, participantIDs: Set<String>? = nil, isBehind: Bool = false, backing: Backing,
        settings: Settings = Settings()
    ) {
        self.roomID = roomID
        self.ownID = ownID
        self.isBehind = isBehind
        self.backing = backing
        self.settings = settings
        backoff = Backoff(from: settings.retryPause, upTo: settings.longestPause)
        store = MessageStore(roomID: roomID, ownID: ownID, participantIDs: participantIDs)
        typists = Typists(ownID: ownID)
        typing = TypingSignal(roomID: roomID, server: backing.server, clock: backing.clock)
    }

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
        guard !isEntered, !isEnded else { return nil }
        isEntered = true
        // What was shown last time may still be on its way to the cache.
        let isCacheBehind = cachedVersion != version
        visit += 1
        return Task { [visit, version = store.version, eventCount] in
            await show(for: visit, from: version, eventCount: eventCount, isCacheBehind: isCacheBehind)
        }
    }

    /// - Parameters:
    ///   - entered: the visit.
    ///   - enteredVersion: the version of `store` when the room was entered.
    ///   - enteredCount: the value of `eventCount` when the room was entered.
    ///   - isCacheBehind: true if the cache may have lacked something from the last visit when the room was entered.
    private func show(
        for entered: Int, from enteredVersion: Int, eventCount enteredCount: Int, isCacheBehind: Bool
    ) async {
        guard visit == entered else { return }
        let cached = await backing.cache.open(roomID)
        guard visit == entered else { return }
        let hasChanged =
            isCacheBehind || isFetched || store.version != enteredVersion || eventCount != enteredCount
        // Below a page that has come meanwhile, cached messages would be shown without those in between.
        if !isFetched { change { $0.showCached(cached.messages) } }
        // If something has changed, the cache lacks what came before it was read. It has to be written again.
        cachedVersion = hasChanged ? -1 : version
        cachedStep = cached.step
        let cachedStoreVersion = store.version
        isCacheShown = true
        freshPage = backing.fresh.page(of: cached, in: roomID, on: await backing.server.connectionCursor())
        guard visit == entered else { return }
        let follower = await backing.outbox.follow(roomID) { [weak self] change in self?.take(change) }
        guard visit == entered else { return await backing.outbox.unfollow(follower, in: roomID) }
        self.follower = follower
        // If something has changed, the cached page lacks what an event has brought. A refresh with that page would
        // drop it, so the refresh has to fetch a page from the server.
        if hasChanged || store.version != cachedStoreVersion { freshPage = nil }
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
        show()
        let newest = newestForCache()
        isEntered = false
        visit += 1
        losses += 1
        freshPage = nil
        endLoading()
        (wasVerified, isJoined) = (false, false)
        typing.stopped()
        stopReading()
        firstUnread = nil
        typists.removeAll()
        typistIDs = []
        let left = visit
        let follower = follower
        self.follower = nil
        // A message that was just typed is in the outbox when this returns.
        await keeping?.value
        if let follower { await backing.outbox.unfollow(follower, in: roomID) }
        // If anything has changed since then, such as a message that was stored meanwhile, it may have come after
        // missed events. The step of `newest` then no longer holds.
        await writeCache(newest.version == version && visit == left ? newest : nil)
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
    func end() async {
        failure = .roomGone
        change { store in
            store.removeAllStored()
            store.setPending([])
        }
        isEnded = true
        await leave()
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
        show()
        await keeping?.value
        await writeCache()
    }

    /// Notes that the person changed the text. The others then see that the person is typing.
    public func typed() { typing.typed() }

    /// Notes that the text is empty again, or no longer edited.
    public func stoppedTyping() { typing.stopped() }

    /// Changes the messages, and shows the change at once. All changes go through this or `changeSoon`.
    func change(_ body: (inout MessageStore) -> Void) {
        update(body)
        show()
    }

    /// Changes the messages. While missed events are replayed, after a reconnect or by a join, changes are shown
    /// together: after `catchUpPause`, or when the replay is complete.
    func changeSoon(_ body: (inout MessageStore) -> Void) {
        guard isBehind || joinCount > 0 else { return change(body) }
        update(body)
        guard showing == nil, store.version != shownVersion else { return }
        showing = Task { [weak self, clock = backing.clock, pause = settings.catchUpPause] in
            // Cancelled if something else shows the changes first.
            do { try await clock.sleep(for: pause) } catch { return }
            self?.show()
        }
    }

    private func update(_ body: (inout MessageStore) -> Void) {
        guard !isEnded else { return }
        body(&store)
        noteStored(store.takeSettled())
        fillGapSoon()
    }

    /// Shows all changes made so far.
    func show() {
        showing?.cancel()
        showing = nil
        if hasOlder != store.hasOlder { hasOlder = store.hasOlder }
        guard store.version != shownVersion else { return }
        shownVersion = store.version
        items = store.items
        version += 1
        writeCacheSoon()
    }

    func writeCacheSoon() {
        guard isEntered, wasVerified, caching == nil, cachedVersion != version || verifiedStep != nil else { return }
        caching = Task { [weak self, clock = backing.clock, pause = settings.cachePause] in
            // Cancelled if something else writes the cache first.
            do { try await clock.sleep(for: pause) } catch { return }
            await self?.writeCache()
        }
    }

    /// Returns what the cache has to contain.
    private func newestForCache() -> (messages: CachedMessages, version: Int) {
        (CachedMessages(newest: backing.cache.messageLimit, of: store, step: verifiedStep), version)
    }

    /// Writes the newest messages to the cache. Does nothing if the cache has them as they are shown, unless this write
    /// would newly mark them as current.
    ///
    /// - Parameter newest: what to write; nil for what is shown now.
    private func writeCache(_ newest: (messages: CachedMessages, version: Int)? = nil) async {
        caching?.cancel()
        caching = nil
        guard isCacheShown else { return }
        let newest = newest ?? newestForCache()
        let step = newest.messages.step
        if cachedVersion == newest.version, step == nil || backing.fresh.isCurrent(cachedStep, in: roomID) { return }
        guard await backing.cache.keep(newest.messages, of: roomID) else {
            // The file lacks events that were shown here. The server does not send them again on a join.
            return backing.fresh.noteStale(roomID)
        }
        if newest.version >= cachedVersion { (cachedVersion, cachedStep) = (newest.version, step) }
    }
}
