import Observation

/// Fetches the pages of a conversation: the newest ones when it is entered, older ones on request, and messages that are
/// missing in between.
@MainActor
@Observable
final class MessageLoader {
    /// True while ``loadOlder()`` is fetching a page.
    private(set) var isLoadingOlder = false
    /// The first message that was unread when the room was loaded in this visit; nil if there was none.
    private(set) var firstUnread: MessageItem.ID?

    /// The number of unread messages when the room was opened, according to the room list. The first fetch gets pages
    /// until it has that many unread messages, or `refetchLimit` messages in all.
    @ObservationIgnored var unreadAtOpening = 0
    /// The cached messages as a page, if they are known to be current.
    @ObservationIgnored var freshPage: Page<Message>?
    /// The step of `FreshRooms` up to which all events are applied; nil if events may have been missed.
    @ObservationIgnored private(set) var verifiedStep: String?
    /// True once a fetch has succeeded in this visit. From then on, a fetch gets everything shown, also far below the
    /// newest page, and changes are cached.
    @ObservationIgnored private(set) var wasVerified = false
    /// True while no screen shows all of the room: the board's badge then stays.
    @ObservationIgnored var keepsUnseen = false
    /// The number of joins in progress. Before its ack of a join, the server sends the events since the room was left.
    @ObservationIgnored private(set) var joinCount = 0
    @ObservationIgnored private var gapFilling: Task<Void, Never>?
    @ObservationIgnored private var gapBackoff: Backoff
    private let roomID: String
    private let timeline: Timeline
    private let loading: Loading
    private let backing: MessageBacking
    private let settings: Conversation.Settings

    init(
        roomID: String, timeline: Timeline, loading: Loading, backing: MessageBacking,
        settings: Conversation.Settings
    ) {
        self.roomID = roomID
        self.timeline = timeline
        self.loading = loading
        self.backing = backing
        self.settings = settings
        gapBackoff = Backoff(from: settings.retryPause, upTo: settings.longestPause)
    }

    /// Ends the visit: what was loaded is no longer known to be current.
    func leave() {
        (wasVerified, freshPage, firstUnread) = (false, nil, nil)
    }

    /// Notes that what is shown is no longer known to be current.
    func noteOutdated() {
        gapFilling?.cancel()
        (gapFilling, verifiedStep) = (nil, nil)
        timeline.markUnverified()
    }

    /// Notes that all missed events have arrived.
    func noteRecovered() { verifiedStep = backing.fresh.step }

    private func isUnread(_ message: Message) -> Bool { message.isUnread(by: timeline.store.ownID) }

    // MARK: What is shown

    /// Joins the room, and fetches the shown messages. It is the conversation's `Loading.Fetch`.
    func fetchShown() async throws -> ClientFailure? {
        let asked = loading.epoch
        let fresh = await takeFreshPage()
        guard loading.epoch == asked else { return nil }
        var oldest = fresh.flatMap { oldestToFetch(with: $0.page) }
        if let fresh { timeline.change { $0.merge(fresh.page, asked: .earlierNewest) } }
        // The room is joined first: messages sent during the fetch then arrive as events.
        let refusal = try await joinRoom()
        guard loading.epoch == asked else { return nil }
        let cursor = await backing.server.connectionCursor()
        guard loading.epoch == asked else { return nil }
        var page: Page<Message>
        if let fresh, refusal == nil, fresh.cursor == cursor {
            // The cached messages have all events up to the cursor, or up to the time when the room was left. The join
            // sends the later events, so no page is needed.
            page = fresh.page
            unreadAtOpening = 0
        } else {
            page = try await backing.server.messages(in: roomID, before: nil, after: nil, limit: settings.pageSize)
            guard loading.epoch == asked else { return nil }
            oldest = oldestToFetch(with: page)
            merge(page, asked: .newest)
        }
        var fetched = page.items.count
        var unread = page.items.count(where: isUnread)
        // Pages are fetched up to the first unread message, because the room opens there, and down to the oldest one
        // that is shown.
        while fetched < settings.refetchLimit, page.next != nil, let first = page.items.first?.seq {
            let isForUnread = unread < unreadAtOpening
            guard isForUnread || first > oldest ?? .max else { break }
            let limit = isForUnread ? settings.refetchPageSize : min(settings.refetchPageSize, first - (oldest ?? 0))
            page = try await backing.server.messages(in: roomID, before: first, after: nil, limit: limit)
            guard loading.epoch == asked else { return nil }
            merge(page, asked: .before(first))
            fetched += page.items.count
            unread += page.items.count(where: isUnread)
        }
        unreadAtOpening = 0
        if refusal == nil {
            verifiedStep = backing.fresh.step(on: cursor)
            backing.fresh.noteVerified(roomID)
        }
        return refusal
    }

    /// Notes that the shown messages have been fetched.
    func noteFetched() {
        timeline.change { $0.dropUnverified() }
        // What comes later in the visit was not there when the room was loaded.
        if !wasVerified, firstUnread == nil {
            firstUnread = timeline.items.first { $0.message.map(isUnread) ?? false }?.id
        }
        wasVerified = true
    }

    /// Returns the `seq` down to which shown messages are fetched again, because the person may be reading them; nil if
    /// the newest page is enough.
    ///
    /// On entering, cached messages may be far below the newest page. Those are dropped.
    private func oldestToFetch(with newest: Page<Message>) -> Int? {
        guard let unverified = timeline.store.unverified, let first = newest.items.first?.seq else { return nil }
        return wasVerified || unverified.upperBound >= first - 1 ? unverified.lowerBound : nil
    }

    /// Merges a page of the server.
    private func merge(_ page: Page<Message>, asked position: PagePosition) {
        if let position = backing.fresh.note(page) { Task { [cache = backing.cache] in await cache.keep(position) } }
        timeline.change { $0.merge(page, asked: position) }
    }

    /// - Returns: the cached messages as a page, and the cursor of the current connection; nil if they may be out of
    ///   date, or without a connection.
    private func takeFreshPage() async -> (page: Page<Message>, cursor: String)? {
        guard let page = freshPage else { return nil }
        freshPage = nil
        return await backing.server.connectionCursor().map { (page, $0) }
    }

    /// Joins the room, and shows what the join has replayed.
    ///
    /// - Returns: the failure if the join may be retried; nil if it succeeded.
    /// - Throws: a refusal that is final; `CancellationError`.
    private func joinRoom() async throws -> ClientFailure? {
        joinCount += 1
        defer {
            joinCount -= 1
            if joinCount == 0, !loading.isBehind { timeline.show() }
        }
        do {
            try await backing.joins.join(roomID, keepingUnseen: keepsUnseen)
            return nil
        } catch let failure as ClientFailure where failure.isRetryable {
            return failure
        }
    }

    // MARK: Older messages, and missing ones

    /// Fetches the page before the first message. Does nothing if there is no older page, if one is being fetched, or if
    /// the newest page was not fetched yet.
    func loadOlder() async {
        guard loading.isFetched, !isLoadingOlder, timeline.store.hasOlder, let floor = timeline.store.floor else {
            return
        }
        isLoadingOlder = true
        defer { isLoadingOlder = false }
        let asked = loading.epoch
        do {
            let page = try await backing.server.messages(
                in: roomID, before: floor, after: nil, limit: settings.pageSize)
            guard loading.epoch == asked else { return }
            loading.failure = nil
            merge(page, asked: .before(floor))
        } catch {
            if loading.epoch == asked { loading.note(error) }
        }
    }

    /// Fetches messages that are missing between others, unless they arrive within `gapPause`. A retryable failure is
    /// retried after a pause.
    func fillGapSoon() {
        guard loading.isFetched, gapFilling == nil, timeline.store.firstGap != nil else { return }
        gapFilling = Task { [weak self, clock = backing.clock, pause = settings.gapPause] in
            var pause = pause
            while true {
                // Leaving, or another fetch, cancels it.
                do { try await clock.sleep(for: pause) } catch { return }
                guard let self, !Task.isCancelled else { return }
                let failure = await self.fillGaps()
                // A later task may have replaced this one.
                guard !Task.isCancelled else { return }
                guard let failure else { break }
                pause = self.gapBackoff.next(random: self.backing.random(), atLeast: failure.retryAfter)
            }
            self?.gapFilling = nil
        }
    }

    /// Fetches the gaps, one after the other. A gap above `refetchLimit` leads to a fetch of everything instead.
    ///
    /// - Returns: the failure after which to retry; nil if nothing is left to do.
    private func fillGaps() async -> ClientFailure? {
        let asked = loading.epoch
        while loading.isFetched, loading.epoch == asked, let gap = timeline.store.firstGap {
            guard gap.count <= settings.refetchLimit else {
                loading.begin()
                return nil
            }
            do {
                let page = try await backing.server.messages(
                    in: roomID, before: nil, after: gap.lowerBound - 1, limit: settings.refetchPageSize)
                guard loading.epoch == asked else { return nil }
                loading.failure = nil
                gapBackoff.reset()
                merge(page, asked: .gap(gap))
            } catch {
                guard loading.epoch == asked, let reason = error as? ClientFailure else { return nil }
                loading.note(reason)
                return reason.isRetryable ? reason : nil
            }
        }
        return nil
    }
}
