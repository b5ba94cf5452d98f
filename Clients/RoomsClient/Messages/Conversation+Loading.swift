import Foundation

extension Conversation {
    /// Fetches the page before the first message; nothing if there is none, or one is being fetched.
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
            change { $0.merge(page, asked: .before(floor)) }
        } catch {
            if epoch == asked { note(error) }
        }
    }

    /// Fetches anew what is shown: on entering, and when the server could not tell what was missed.
    ///
    /// One at a time; asked again meanwhile, it begins again at once: the pages fetched may be older than what was missed, and the
    /// one under way may wait for a connection that is dead. Returns with the last one.
    public func refresh() async {
        beginRefresh()
        while let refreshing { await refreshing.value }
    }

    /// What is shown is known to be out of date from now on.
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

    /// What is under way is of no use any more.
    func endLoading() {
        epoch += 1
        for task in [refreshing, retrying, gapFilling] { task?.cancel() }
        (refreshing, retrying, gapFilling) = (nil, nil, nil)
        (isFetched, isLoading) = (false, false)
        store.markUnverified()
    }

    private func fetchShown(asked: Int) async {
        guard epoch == asked else { return }
        // On entering, the newest page alone: what is kept below it may be far from it.
        let oldest = wasVerified ? store.items.first?.seq : nil
        do {
            let fresh = await takeFreshPage()
            guard epoch == asked else { return }
            if let fresh { change { $0.merge(fresh.page, asked: .newest) } }
            // Before the page: what is sent while it is fetched comes as an event.
            let refusal = try await joinRoom()
            guard epoch == asked else { return }
            let cursor = await backing.server.connectionCursor()
            guard epoch == asked else { return }
            var page: Page<Message>
            if let fresh, refusal == nil, fresh.cursor == cursor {
                // The join brings what has happened since, what is unread too.
                page = fresh.page
                unreadAtOpening = 0
            } else {
                page = try await backing.server.messages(
                    in: roomID, before: nil, after: nil, limit: settings.pageSize)
                guard epoch == asked else { return }
                change { $0.merge(page, asked: .newest) }
            }
            verifiedCursor = refusal == nil ? cursor : nil
            var fetched = page.items.count
            var unread = page.items.count(where: isUnread)
            // Up to the first unread one: that is where the room opens.
            while unread < unreadAtOpening, fetched < settings.refetchLimit, let first = page.items.first?.seq,
                page.next != nil
            {
                page = try await backing.server.messages(
                    in: roomID, before: first, after: nil, limit: settings.refetchPageSize)
                guard epoch == asked else { return }
                change { $0.merge(page, asked: .before(first)) }
                fetched += page.items.count
                unread += page.items.count(where: isUnread)
            }
            unreadAtOpening = 0
            while let oldest, let first = page.items.first?.seq, first > oldest, page.next != nil,
                fetched < settings.refetchLimit
            {
                page = try await backing.server.messages(
                    in: roomID, before: first, after: nil, limit: settings.refetchPageSize)
                guard epoch == asked else { return }
                change { $0.merge(page, asked: .before(first)) }
                fetched += page.items.count
            }
            isFetched = true
            isJoined = refusal == nil
            wasVerified = true
            failure = refusal
            // All is shown that there was; what came since, when there is somebody to tell.
            if let refusal { refreshLater(after: refusal) } else { backoff.reset() }
            change { $0.dropUnverified() }
            noteFirstUnread()
            writeCacheSoon()
        } catch {
            guard epoch == asked else { return }
            note(error)
            if let error = error as? ClientFailure, error.isRetryable { refreshLater(after: error) }
        }
    }

    /// - Returns: what the cache has, and the connection on which that is known to be what the server has.
    private func takeFreshPage() async -> (page: Page<Message>, cursor: String)? {
        guard let page = freshPage else { return nil }
        freshPage = nil
        return await backing.server.connectionCursor().map { (page, $0) }
    }

    /// - Returns: why it is not joined for now, where the server has said so.
    private func joinRoom() async throws -> ClientFailure? {
        do {
            try await backing.joins.join(roomID)
            return nil
        } catch let failure as ClientFailure where failure.isRetryable {
            return failure
        }
    }

    private func refreshLater(after failure: ClientFailure) {
        let pause = backoff.next(random: backing.random(), atLeast: failure.retryAfter)
        retrying = Task { [weak self, clock = backing.clock] in
            // Cancelled on leaving, and when something else has it fetched before.
            do { try await clock.sleep(for: pause) } catch { return }
            guard let self, !Task.isCancelled else { return }
            self.beginRefresh()
        }
    }

    /// A message is missing between two: it is late, or was lost, and then it is fetched.
    func fillGapSoon() {
        guard isEntered, isFetched, gapFilling == nil, store.firstGap != nil else { return }
        gapFilling = Task { [weak self, clock = backing.clock, pause = settings.gapPause] in
            var pause = pause
            while true {
                // Cancelled on leaving, and when all is fetched anew.
                do { try await clock.sleep(for: pause) } catch { return }
                guard let self, !Task.isCancelled else { return }
                let failure = await self.fillGaps()
                // Another one may have taken its place.
                guard !Task.isCancelled else { return }
                guard let failure else { break }
                pause = self.backoff.next(random: self.backing.random(), atLeast: failure.retryAfter)
            }
            self?.gapFilling = nil
        }
    }

    /// - Returns: why it has to be tried again; nil if nothing is left to do.
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
                change { $0.merge(page, asked: .gap(gap)) }
            } catch {
                guard epoch == asked, let reason = error as? ClientFailure else { return nil }
                note(reason)
                return reason.isRetryable ? reason : nil
            }
        }
        return nil
    }

    private func note(_ error: any Error) {
        guard let error = error as? ClientFailure else { return }  // cancelled: nobody waits for it
        failure = error
        guard case .refused(let refusal) = error, refusal.code == "room_not_found" else { return }
        change { $0.removeAllStored() }
        Task { await backing.cache.remove(roomID) }
    }
}
