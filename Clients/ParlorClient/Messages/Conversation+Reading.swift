import Foundation

// Read receipts: a message counts as read after half a second on the screen.
extension Conversation {
    /// Notes that items appeared on the screen. A row calls it when it appears.
    ///
    /// Unread messages of others that stay for half a second are marked as read. While the room loads, the half second
    /// starts again, because new pages push items across the screen.
    public func noteVisible(_ items: some Sequence<MessageItem>) {
        guard isEntered else { return }
        let items = Array(items)
        visible.show(items, unread: unreadIDs(of: items), at: backing.clock.now)
        noteEnd()
        readLater()
    }

    /// Notes that items left the screen. A row calls it when it disappears.
    public func noteHidden(_ items: some Sequence<MessageItem>) {
        visible.hide(items)
        noteEnd()
    }

    /// Sets the items that are on the screen, for an interface that always draws the whole screen.
    public func setVisible(_ items: some Sequence<MessageItem>) {
        guard isEntered else { return }
        let items = Array(items)
        let unread = unreadIDs(of: items)
        visible.hideAll(but: items, unread: unread)
        visible.show(items, unread: unread, at: backing.clock.now)
        noteEnd()
        readLater()
    }

    private func noteEnd() { onEnd(visible.end(of: items, at: backing.clock.now)) }

    /// Notes that a message has arrived. If the end of the messages is on the screen, the message has some time to be
    /// drawn there.
    func noteArrival(of message: Message) {
        guard visible.isAtEnd, message.senderID != ownID else { return }
        visible.arrive(message.id, at: backing.clock.now)
        guard drawing == nil else { return }
        drawing = Task { [weak self, clock = backing.clock] in
            while self?.visible.isDrawing == true {
                // Leaving the room cancels it.
                do { try await clock.sleep(for: .seconds(VisibleMessages.drawingTime)) } catch { return }
                guard let self, !Task.isCancelled else { return }
                self.noteEnd()
            }
            self?.drawing = nil
        }
    }

    /// Marks all messages of the room as read, for example for a button. It fetches older messages that are not loaded,
    /// which may take several requests.
    ///
    /// Receipts are sent now, or as soon as the server can be reached.
    ///
    /// - Throws: `ClientFailure` or `CancellationError` if messages that are not loaded cannot be fetched. Those found
    ///   before are still marked.
    public func markAllRead() async throws {
        // If all messages above the floor are known, the search begins below it. Otherwise it begins with the newest
        // page (nil): there may be messages from a time without a connection, from before the first page, or in a gap.
        var oldest = isVerified && store.firstGap == nil ? store.floor : nil
        var hasOlder = oldest.map { $0 > 1 } ?? true
        // The count is taken first, because the receipts below lower it.
        let count = unreadCount() ?? .max
        let shown = unreadIDs(of: items)
        var found = Set(shown)
        await backing.receipts.add(shown, in: roomID)
        while hasOlder {
            let page = try await backing.server.messages(
                in: roomID, before: oldest, after: nil, limit: settings.refetchPageSize)
            let unread = page.items.filter(isUnread).map(\.id).filter { !found.contains($0) }
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
        items.compactMap(\.message).filter(isUnread).map(\.id)
    }

    func isUnread(_ message: Message) -> Bool { message.isUnread(by: ownID) }

    /// Sets ``firstUnread`` when the room is loaded. A screen can draw a line above that message. The value stays for
    /// the whole visit.
    func noteFirstUnread() {
        guard firstUnread == nil else { return }
        firstUnread = items.first { $0.message.map(isUnread) ?? false }?.id
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
        if isLoading { return visible.restart(at: now) }
        let read = visible.takeRead(at: now)
        if !read.isEmpty { await backing.receipts.add(read, in: roomID) }
    }

    func stopReading() {
        reading?.cancel()
        drawing?.cancel()
        (reading, drawing) = (nil, nil)
        visible = VisibleMessages()
        onEnd(nil)
    }
}
