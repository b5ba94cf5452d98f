import Foundation

// Which messages one has read: those that were on the screen for half a second.
extension Conversation {
    /// These have come onto the screen: a row calls it as it appears. Others' unread ones that stay for half a second are read.
    ///
    /// While the room is being loaded no time passes: what a join or a page brings flashes by.
    public func noteVisible(_ items: some Sequence<MessageItem>) {
        guard isEntered else { return }
        visible.show(unreadIDs(of: items), at: backing.clock.now)
        readLater()
    }

    /// These have left the screen: a row calls it as it disappears.
    public func noteHidden(_ items: some Sequence<MessageItem>) {
        visible.hide(items.compactMap { $0.message?.id })
    }

    /// These, and no others, are on the screen: for an interface that draws the whole of it.
    public func setVisible(_ items: some Sequence<MessageItem>) {
        guard isEntered else { return }
        let ids = unreadIDs(of: items)
        visible.hideAll(but: Set(ids))
        visible.show(ids, at: backing.clock.now)
        readLater()
    }

    /// Reads all that the room has, also what is not loaded: a button's work. It may take several requests.
    ///
    /// What is found is read now, or as soon as the server can be reached.
    ///
    /// - Throws: `ClientFailure` if older messages cannot be fetched. What was found before is read all the same.
    public func markAllRead() async throws {
        var oldest = store.floor
        // What is found lowers it.
        let count = unreadCount() ?? .max
        let loaded = unreadIDs(of: items)
        await backing.receipts.add(loaded, in: roomID)
        var found = loaded.count
        while let before = oldest, before > 1 {
            let page = try await backing.server.messages(
                in: roomID, before: before, after: nil, limit: settings.refetchPageSize)
            let unread = page.items.filter(isUnread)
            // Below own and read ones there may be others, as long as some are missing.
            guard !unread.isEmpty || found < count else { break }
            found += unread.count
            await backing.receipts.add(unread.map(\.id), in: roomID)
            oldest = page.next == nil ? nil : page.items.first?.seq
        }
        await backing.receipts.flush()
    }

    private func unreadIDs(of items: some Sequence<MessageItem>) -> [String] {
        items.compactMap(\.message).filter(isUnread).map(\.id)
    }

    func isUnread(_ message: Message) -> Bool {
        message.senderId != ownID && !message.readBy.contains { $0.userId == ownID }
    }

    /// The first unread one of those that are loaded, as the room comes up. It stays for this visit, so that a line can stand above it.
    func noteFirstUnread() {
        guard firstUnread == nil else { return }
        firstUnread = items.first { $0.message.map(isUnread) ?? false }?.id
    }

    private func readLater() {
        guard reading == nil, !visible.isEmpty else { return }
        reading = Task { [weak self, clock = backing.clock] in
            while let wait = self?.timeToNextRead() {
                // Cancelled on leaving.
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
        if isLoading { return visible.restart(at: now) }
        let read = visible.takeRead(at: now)
        if !read.isEmpty { await backing.receipts.add(read, in: roomID) }
    }

    func stopReading() {
        reading?.cancel()
        reading = nil
        visible.removeAll()
    }
}
