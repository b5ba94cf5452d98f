import Foundation

extension Conversation {
    /// Fetches the page before the first message. On an error, it sets ``failure``.
    ///
    /// Does nothing if there is no older page, if one is being fetched, or if the newest page was not fetched yet.
    public func loadOlder() async {
        guard isEntered, isFetched, !isLoadingOlder, store.hasOlder, let floor = store.floor else { return }
        isLoadingOlder = true
        defer { isLoadingOlder = false }
        let asked = epoch
        do {
            let page = try await backing.server.messages(
                in: roomID, before: floor, after: nil, limit: settings.pageSize)
            guard epoch == asked else { return }
            failure = nil
            merge(page, asked: .before(floor))
        } catch {
            if epoch == asked { note(error) }
        }
    }

    /// Fetches the shown messages again. The conversation does so itself on entering, and when events may be missing.
    ///
    /// A new call restarts the fetch, because pages fetched so far may be older than the missing events, and
    /// the request in progress may wait for a dead connection. Returns when the last fetch ends.
    public func refresh() async {
        beginRefresh()
        while let refreshing { await refreshing.value }
    }

    /// Starts a refresh. Until it succeeds, what is shown is unverified.
    func beginRefresh() {
        guard isEntered else { return }
        endLoading()
        isLoading = true
        refreshing = Task { [epoch] in
            await fetchShown(asked: epoch)
            guard epoch == self.epoch else { return }
            isLoading = false
            refreshing = nil
        }
    }

    /// Ends all fetches. Their answers are ignored.
    func endLoading() {
        epoch += 1
        for task in [refreshing, retrying, gapFilling] { task?.cancel() }
        (refreshing, retrying, gapFilling) = (nil, nil, nil)
        (isFetched, isLoading, verifiedStep) = (false, false, nil)
        store.markUnverified()
    }

    private func fetchShown(asked: Int) async {
        guard epoch == asked else { return }
        do {
            let fresh = await takeFreshPage()
            guard epoch == asked else { return }
            var oldest = fresh.flatMap { oldestToFetch(with: $0.page) }
            if let fresh { change { $0.merge(fresh.page, asked: .earlierNewest) } }
            // The room is joined first: messages sent during the fetch then arrive as events.
            let refusal = try await joinRoom()
            guard epoch == asked else { return }
            let cursor = await backing.server.connectionCursor()
            guard epoch == asked else { return }
            var page: Page<Message>
            if let fresh, refusal == nil, fresh.cursor == cursor {
                // The cached messages have all events up to the cursor, or up to the time when the room was left. The
                // join sends the later events, so no page is needed.
                page = fresh.page
                unreadAtOpening = 0
            } else {
                page = try await backing.server.messages(
                    in: roomID, before: nil, after: nil, limit: settings.pageSize)
                guard epoch == asked else { return }
                oldest = oldestToFetch(with: page)
                merge(page, asked: .newest)
            }
            var fetched = page.items.count
            var unread = page.items.count(where: isUnread)
            // Pages are fetched up to the first unread message, because the room opens there.
            while unread < unreadAtOpening, fetched < settings.refetchLimit, let first = page.items.first?.seq,
                page.next != nil
            {
                page = try await backing.server.messages(
                    in: roomID, before: first, after: nil, limit: settings.refetchPageSize)
                guard epoch == asked else { return }
                merge(page, asked: .before(first))
                fetched += page.items.count
                unread += page.items.count(where: isUnread)
            }
            unreadAtOpening = 0
            while let oldest, let first = page.items.first?.seq, first > oldest, page.next != nil,
                fetched < settings.refetchLimit
            {
                page = try await backing.server.messages(
                    in: roomID, before: first, after: nil, limit: min(settings.refetchPageSize, first - oldest))
                guard epoch == asked else { return }
                merge(page, asked: .before(first))
                fetched += page.items.count
            }
            isFetched = true
            isJoined = refusal == nil
            if isJoined {
                verifiedStep = backing.fresh.step(on: cursor)
                backing.fresh.noteVerified(roomID)
            }
            failure = refusal
            // What is shown is complete. But if the join was refused, later messages do not arrive, so it is retried.
            if let refusal { refreshLater(after: refusal) } else { backoff.reset() }
            change { $0.dropUnverified() }
            // What comes later in the visit was not there when the room was loaded.
            if !wasVerified { noteFirstUnread() }
            wasVerified = true
            writeCacheSoon()
        } catch {
            guard epoch == asked else { return }
            note(error)
            if let error = error as? ClientFailure, error.isRetryable { refreshLater(after: error) }
        }
    }

    /// Returns the `seq` down to which shown messages are fetched again, because the person may be reading them; nil if
    /// the newest page is enough.
    ///
    /// On entering, cached messages may be far below the newest page. Those are dropped.
    private func oldestToFetch(with newest: Page<Message>) -> Int? {
        guard let unverified = store.unverified, let first = newest.items.first?.seq else { return nil }
        return wasVerified || unverified.upperBound >= first - 1 ? unverified.lowerBound : nil
    }

    /// Merges a page of the server.
    private func merge(_ page: Page<Message>, asked position: PagePosition) {
        if let position = backing.fresh.note(page) { Task { [cache = backing.cache] in await cache.keep(position) } }
        change { $0.merge(page, asked: position) }
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
            if joinCount == 0, !isBehind { show() }
        }
        do {
            try await backing.joins.join(roomID)
            return nil
        } catch let failure as ClientFailure where failure.isRetryable {
            return failure
        }
    }

    private func refreshLater(after failure: ClientFailure) {
        let pause = backoff.next(random: backing.random(), atLeast: failure.retryAfter)
        retrying?.cancel()
        retrying = Task { [weak self, clock = backing.clock] in
            // The pause is cancelled if the room is left, or if another refresh starts first.
            do { try await clock.sleep(for: pause) } catch { return }
            guard let self, !Task.isCancelled else { return }
            self.beginRefresh()
        }
    }

    /// Fetches messages that are missing between others, unless they arrive within `gapPause`. A retryable failure is
    /// retried after a pause.
    func fillGapSoon() {
        guard isEntered, isFetched, gapFilling == nil, store.firstGap != nil else { return }
        gapFilling = Task { [weak self, clock = backing.clock, pause = settings.gapPause] in
            var pause = pause
            while true {
                // Leaving, or a refresh, cancels it.
                do { try await clock.sleep(for: pause) } catch { return }
                guard let self, !Task.isCancelled else { return }
                let failure = await self.fillGaps()
                // A later task may have replaced this one.
                guard !Task.isCancelled else { return }
                guard let failure else { break }
                pause = self.backoff.next(random: self.backing.random(), atLeast: failure.retryAfter)
            }
            self?.gapFilling = nil
        }
    }

    /// Fetches the gaps, one after the other. A gap above `refetchLimit` leads to a refresh instead.
    ///
    /// - Returns: the failure after which to retry; nil if nothing is left to do.
    private func fillGaps() async -> ClientFailure? {
        let asked = epoch
        while isEntered, isFetched, epoch == asked, let gap = store.firstGap {
            guard gap.count <= settings.refetchLimit else {
                beginRefresh()
                return nil
            }
            do {
                let page = try await backing.server.messages(
                    in: roomID, before: nil, after: gap.lowerBound - 1, limit: settings.refetchPageSize)
                guard epoch == asked else { return nil }
                failure = nil
                backoff.reset()
                merge(page, asked: .gap(gap))
            } catch {
                guard epoch == asked, let reason = error as? ClientFailure else { return nil }
                note(reason)
                return reason.isRetryable ? reason : nil
            }
        }
        return nil
    }

    private func note(_ error: any Error) {
        guard let error = error as? ClientFailure else { return }  // a cancelled request has no waiting caller
        failure = error
        guard error.isRoomGone else { return }
        // Stored messages can be fetched again. Unsent ones stay until the loss is confirmed.
        change { $0.removeAllStored() }
        Task { await backing.cache.remove(roomID) }
        onUnknownRoom()
        // If the loss is confirmed, the conversation ends. Otherwise the answer was wrong.
        refreshLater(after: error)
    }
}
