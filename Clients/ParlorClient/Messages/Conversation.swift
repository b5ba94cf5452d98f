import Foundation
import Observation

/// One room's messages, live: what a screen shows and does.
///
/// ``enter()`` shows what is kept on this device at once, with ``isVerified`` false, and then what the server has. From then on
/// ``apply(_:)-(RoomEvent)`` keeps it up to date. Own messages appear as they are typed, and go through the ``Outbox``.
///
/// ``version`` rises with every change of ``items``, and with nothing else. It is no identity for a view: a list that is given it
/// loses its scroll position with each receipt.
@MainActor
@Observable
public final class Conversation {
    /// What all conversations of one person share.
    public struct Backing: Sendable {
        public let server: any MessageServer
        public var outbox: Outbox
        public var cache: MessageCache
        public var receipts: ReadReceipts
        public var clock: any ClientClock
        /// Makes a `tempId`: no two alike, ever.
        public var makeID: @Sendable () -> String
        /// From 0 up to 1.
        public var random: @Sendable () -> Double
        let fresh = FreshRooms()
        let joins: RoomJoins

        public init(
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

    public struct Settings: Sendable {
        /// Of the first page, and of each older one.
        public var pageSize = 50
        /// After an absence that the server cannot make up for, so many messages of those shown are fetched again; older ones are
        /// let go, and come back with ``Conversation/loadOlder()``.
        public var refetchLimit = 1_000
        /// Of a page fetched again: the largest that the server gives.
        public var refetchPageSize = 200
        /// How long a missing message may be merely late.
        public var gapPause: Duration = .milliseconds(500)
        /// Until what could not be fetched is tried again, if no connection comes before: a random part of this, of twice as much
        /// the next time, and so on.
        public var retryPause: Duration = .seconds(5)
        public var longestPause: Duration = .seconds(30)
        /// Events of a replay that arrive within it are shown together.
        public var catchUpPause: Duration = .milliseconds(100)
        /// Changes within it are written to the cache at once.
        public var cachePause: Duration = .milliseconds(500)

        public init() {}
    }

    public let roomID: String
    public let ownID: String

    public private(set) var items = MessageItems()
    public private(set) var version = 0
    /// The server has confirmed all that is shown, and tells of every change. False: it may be out of date.
    public var isVerified: Bool { isFetched && isJoined && !isAway }
    /// All that is shown has been fetched, and what was missed since can be told.
    var isFetched = false
    /// Where there is a connection, the server tells of the room on it.
    var isJoined = false
    /// There is no connection, or what was missed has not been told yet.
    var isAway: Bool
    /// The joins under way: before its ack, each brings what has happened since the room was left.
    @ObservationIgnored var joinCount = 0
    public internal(set) var isLoading = false
    public internal(set) var isLoadingOlder = false
    public private(set) var hasOlder = false
    /// Why the last loading failed; what is shown stays.
    public internal(set) var failure: ClientFailure?
    /// Others who type, in the order they began.
    public internal(set) var typistIDs: [String] = []
    /// The first message that was unread as the room came up, in this visit; nil if there was none.
    public internal(set) var firstUnread: MessageItem.ID?
    /// So many messages were unread when the room was opened, as far as the list of rooms knows: they are loaded with it.
    @ObservationIgnored var unreadAtOpening = 0
    /// The number of unread messages in the whole room, as far as the list of rooms knows; nil if it does not.
    @ObservationIgnored var unreadCount: @MainActor () -> Int? = { nil }
    /// Something was sent to the room after it was left here.
    @ObservationIgnored var hasMissed = false
    /// The connection on which all that is shown has been known; nil if something may have been missed.
    @ObservationIgnored var verifiedCursor: String?
    /// What the cache has, if that is what the server has.
    @ObservationIgnored var freshPage: Page<Message>?
    @ObservationIgnored var visible = VisibleMessages()
    @ObservationIgnored var reading: Task<Void, Never>?

    @ObservationIgnored let backing: Backing
    @ObservationIgnored let settings: Settings
    @ObservationIgnored let typing: TypingSignal
    @ObservationIgnored var store: MessageStore
    @ObservationIgnored var typists: Typists
    @ObservationIgnored var isEntered = false
    /// The room has been shown verified since it was entered: what is shown then is worth fetching again.
    @ObservationIgnored var wasVerified = false
    /// Rises with every entering and leaving.
    @ObservationIgnored private(set) var visit = 0
    /// Rises when what was asked before is no longer of use.
    @ObservationIgnored var epoch = 0
    /// Rises when something may have been missed that nobody will tell: after a loss of the connection, and away from the room.
    @ObservationIgnored var losses = 0
    /// After how many losses each message under way was sent.
    @ObservationIgnored var sentAfter: [String: Int] = [:]
    @ObservationIgnored var refreshing: Task<Void, Never>?
    @ObservationIgnored var retrying: Task<Void, Never>?
    /// Of the tries to fetch.
    @ObservationIgnored var backoff: Backoff
    @ObservationIgnored var gapFilling: Task<Void, Never>?
    /// Typed, and on their way into the outbox.
    @ObservationIgnored var unkept: [PendingMessage] = []
    @ObservationIgnored var keeping: Task<Void, Never>?
    /// The version of `store` that is shown.
    @ObservationIgnored private var shownVersion = 0
    /// Shows changes that are made and not shown yet.
    @ObservationIgnored private var showing: Task<Void, Never>?
    @ObservationIgnored private var caching: Task<Void, Never>?
    @ObservationIgnored private var cachedVersion = 0
    /// What is kept has been read: until then what is shown would replace more than it has.
    @ObservationIgnored private var isCacheShown = false
    @ObservationIgnored private var follower: Int?

    /// - Parameters:
    ///   - participantIDs: of the room, to tell when everyone has read a message; nil if not known.
    ///   - isAway: whether `recovered` is still to be told of the connection.
    public init(
        roomID: String, ownID: String, participantIDs: Set<String>? = nil, isAway: Bool = false, backing: Backing,
        settings: Settings = Settings()
    ) {
        self.roomID = roomID
        self.ownID = ownID
        self.isAway = isAway
        self.backing = backing
        self.settings = settings
        backoff = Backoff(from: settings.retryPause, upTo: settings.longestPause)
        store = MessageStore(roomID: roomID, ownID: ownID, participantIDs: participantIDs)
        typists = Typists(ownID: ownID)
        typing = TypingSignal(roomID: roomID, server: backing.server, clock: backing.clock)
    }

    /// Shows the room, and returns when the server has answered or ``failure`` says why it has not. It is tried again then,
    /// after a pause and with the next connection. Does nothing in a room that is entered already.
    public func enter() async { await beginVisit()?.value }

    /// Enters at once, so that a ``leave()`` that comes next finds it entered, and shows the room in its own time.
    @discardableResult
    func beginVisit() -> Task<Void, Never>? {
        guard !isEntered else { return nil }
        isEntered = true
        visit += 1
        return Task { [visit] in await show(for: visit) }
    }

    private func show(for entered: Int) async {
        guard visit == entered else { return }
        let cached = await backing.cache.openRoom(roomID)
        guard visit == entered else { return }
        change { $0.showCached(cached) }
        cachedVersion = version
        isCacheShown = true
        freshPage = backing.fresh.page(of: cached, in: roomID, on: await backing.server.connectionCursor())
        guard visit == entered else { return }
        let follower = await backing.outbox.follow(roomID) { [weak self] change in self?.take(change) }
        guard visit == entered else { return await backing.outbox.unfollow(follower, in: roomID) }
        self.follower = follower
        await refresh()
    }

    /// The screen is gone: nothing more arrives. What is shown stays, for the next time. Unsent messages go on being sent.
    ///
    /// Returns when what is shown is in the cache; the server is told in its own time. Entered again meanwhile, it stays so.
    ///
    /// - Returns: a task that ends when the server has left the room; nil if it was not entered, or is entered again.
    @discardableResult
    public func leave() async -> Task<Void, Never>? {
        guard isEntered else { return nil }
        show()
        let cursor = isVerified && store.firstGap == nil ? verifiedCursor : nil
        isEntered = false
        hasMissed = false
        visit += 1
        losses += 1
        (verifiedCursor, freshPage) = (nil, nil)
        endLoading()
        wasVerified = false
        typing.stopped()
        stopReading()
        firstUnread = nil
        typists.removeAll()
        typistIDs = []
        let left = visit
        let follower = follower
        self.follower = nil
        // Typed just before: it is in the outbox when this returns.
        await keeping?.value
        if let follower { await backing.outbox.unfollow(follower, in: roomID) }
        await writeCache()
        guard visit == left else { return nil }
        if let cursor, !hasMissed { noteFresh(on: cursor) }
        let leaving = backing.joins.leave(roomID)
        Task { [receipts = backing.receipts] in
            await leaving.value
            await receipts.flush()
        }
        return leaving
    }

    private func noteFresh(on cursor: String) {
        let newest = store.newest(backing.cache.messageLimit)
        let note = FreshRooms.Note(
            cursor: cursor, count: newest.count, newestID: newest.last?.id,
            hasOlder: store.hasOlder || store.items.storedCount > newest.count)
        backing.fresh.note(note, of: roomID)
    }

    /// The room is no longer one's own: it is left, and nothing of it is shown any more.
    func end() async {
        failure = .refused(Refusal(code: "room_not_found", message: "The room is gone."))
        change { store in
            store.removeAllStored()
            store.setPending([])
        }
        await leave()
    }

    /// The app goes to the background, and may not come back: what waits to be written or told is so now.
    public func enterBackground() async {
        await keepAll()
        await typing.settle()
        await backing.receipts.flush()
    }

    /// What waits to be written is on the disk when this returns.
    func keepAll() async {
        typing.stopped()
        show()
        await keeping?.value
        await writeCache()
    }

    /// The person has changed the text.
    public func typed() { typing.typed() }

    /// The text is empty again, or no longer edited.
    public func stoppedTyping() { typing.stopped() }

    /// Changes the messages, and shows the change at once. This and `changeSoon` are the only ways.
    func change(_ body: (inout MessageStore) -> Void) {
        update(body)
        show()
    }

    /// Changes the messages. While missed events are replayed, after a reconnect or by a join, changes are shown
    /// together: what comes within `catchUpPause`, or until the replay is complete.
    func changeSoon(_ body: (inout MessageStore) -> Void) {
        guard isAway || joinCount > 0 else { return change(body) }
        update(body)
        guard showing == nil, store.version != shownVersion else { return }
        showing = Task { [weak self, clock = backing.clock, pause = settings.catchUpPause] in
            // Cancelled if something else shows the changes first.
            do { try await clock.sleep(for: pause) } catch { return }
            self?.show()
        }
    }

    private func update(_ body: (inout MessageStore) -> Void) {
        body(&store)
        noteStored(store.takeSettled())
        fillGapSoon()
    }

    /// Shows all changes.
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
        guard isEntered, wasVerified, caching == nil, cachedVersion != version else { return }
        caching = Task { [weak self, clock = backing.clock, pause = settings.cachePause] in
            // Cut short when it is written at once.
            do { try await clock.sleep(for: pause) } catch { return }
            await self?.writeCache()
        }
    }

    private func writeCache() async {
        caching?.cancel()
        caching = nil
        guard isCacheShown, cachedVersion != version else { return }
        cachedVersion = version
        await backing.cache.keep(store.newest(backing.cache.messageLimit), of: roomID)
    }
}
