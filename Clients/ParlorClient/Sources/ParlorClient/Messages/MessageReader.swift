import Foundation

/// Decides which messages of a conversation are read: those that are on the screen for half a second, or all of them on
/// request.
@MainActor
final class MessageReader {
    /// Returns the number of unread messages in the whole room, according to the room list; nil if unknown.
    var unreadCount: @MainActor () -> Int? = { nil }
    /// Called with `VisibleMessages.end(of:at:)`.
    var onEnd: @MainActor (Set<String>?) -> Void = { _ in }
    private var visible = VisibleMessages()
    private var reading: Task<Void, Never>?
    /// The time in which the screen draws messages that have arrived.
    private let drawing: DelayedWork
    private let roomID: String
    private let timeline: Timeline
    private let loading: Loading
    private let backing: MessageBacking

    init(roomID: String, timeline: Timeline, loading: Loading, backing: MessageBacking) {
        self.roomID = roomID
        self.timeline = timeline
        self.loading = loading
        self.backing = backing
        drawing = DelayedWork(backing.clock)
    }

    /// Notes that items appeared on the screen.
    func noteVisible(_ items: [MessageItem]) {
        visible.show(items, unread: unreadIDs(of: items), at: backing.clock.now)
        noteEnd()
        readLater()
    }

    /// Notes that items left the screen.
    func noteHidden(_ items: some Sequence<MessageItem>) {
        visible.hide(items)
        noteEnd()
    }

    /// Sets the items that are on the screen.
    func setVisible(_ items: [MessageItem]) {
        visible.hideAll(but: items, unread: unreadIDs(of: items))
        noteVisible(items)
    }

    /// Notes that a message has arrived. If the end of the messages is on the screen, the message has some time to be
    /// drawn there.
    func noteArrival(of message: Message) {
        guard visible.isAtEnd, message.senderID != timeline.store.ownID else { return }
        visible.arrive(message.id, at: backing.clock.now)
        waitForDrawing()
    }

    private func waitForDrawing() {
        guard visible.isDrawing else { return }
        drawing.start(after: .seconds(VisibleMessages.drawingTime)) { [weak self] in
            self?.noteEnd()
            self?.waitForDrawing()
        }
    }

    private func noteEnd() { onEnd(visible.end(of: timeline.items, at: backing.clock.now)) }

    func stop() {
        reading?.cancel()
        reading = nil
        drawing.cancel()
        visible = VisibleMessages()
        onEnd(nil)
    }

    /// Marks all messages of the room as read, also those that are not loaded.
    ///
    /// - Parameter pageSize: of the requests for messages that are not loaded.
    func markAllRead(pageSize: Int) async throws {
        let store = timeline.store
        // If all messages above the floor are known, the search begins below it. Otherwise it begins with the newest
        // page (nil): there may be messages from a time without a connection, from before the first page, or in a gap.
        var oldest = loading.isVerified && store.firstGap == nil ? store.floor : nil
        var hasOlder = oldest.map { $0 > 1 } ?? true
        // The count is taken first, because the receipts below lower it.
        let count = unreadCount() ?? .max
        let shown = unreadIDs(of: timeline.items)
        var found = Set(shown)
        await backing.receipts.add(shown, in: roomID)
        while hasOlder {
            let page = try await backing.server.messages(in: roomID, before: oldest, after: nil, limit: pageSize)
            let unread = page.items.filter { $0.isUnread(by: store.ownID) }.map(\.id).filter { !found.contains($0) }
            // Unread messages may be below a page that has none. Such a page ends the loop only once `count` are found.
            guard !unread.isEmpty || found.count < count else { break }
            found.formUnion(unread)
            await backing.receipts.add(unread, in: roomID)
            oldest = page.items.first?.seq
            hasOlder = page.next != nil && (oldest ?? 0) > 1
        }
        await backing.receipts.flush()
    }

    private func unreadIDs(of items: some Sequence<MessageItem>) -> [String] {
        items.compactMap(\.message).filter { $0.isUnread(by: timeline.store.ownID) }.map(\.id)
    }

    private func readLater() {
        guard reading == nil, !visible.isEmpty else { return }
        reading = Task { [weak self, clock = backing.clock] in
            while let wait = self?.timeToNextRead() {
                // Leaving the room cancels it.
                do { try await clock.sleep(for: wait) } catch { return }
                guard let self, !Task.isCancelled else { return }
                await self.readVisible()
            }
            self?.reading = nil
        }
    }

    private func timeToNextRead() -> Duration? {
        visible.nextRead.map {
            .seconds(min(max(0.01, $0.timeIntervalSince(backing.clock.now)), VisibleMessages.readingTime))
        }
    }

    private func readVisible() async {
        let now = backing.clock.now
        // New pages push items across the screen.
        if loading.isLoading { return visible.restart(at: now) }
        let read = visible.takeRead(at: now)
        if !read.isEmpty { await backing.receipts.add(read, in: roomID) }
    }
}
