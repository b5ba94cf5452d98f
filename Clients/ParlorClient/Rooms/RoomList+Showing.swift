// Decides when changes are shown: the person's actions and answers at once, events at most once in 100 ms.
extension RoomList {
    /// Shows an event's change at once, or with those that follow within 100 ms.
    ///
    /// A new or removed room is always shown at once, because code that creates rooms relies on it.
    func showSoon(_ roomID: String) {
        stale.insert(roomID)
        if isResting, store.sorted.membership == shown.membership { return }
        show()
        guard !isResting else { return }
        isResting = true
        // `weak`: a list that is no longer shown stops.
        Task { [weak self, clock] in
            repeat {
                // Only a cancellation would end the sleep early, and nothing cancels it.
                try? await clock.sleep(for: RoomCountManager.interval)
            } while self?.showAgain() == true
        }
    }

    private func showAgain() -> Bool {
        isResting = show()
        return isResting
    }

    /// - Returns: true if there was something new to show.
    @discardableResult
    func show() -> Bool {
        for id in stale { takeCounts(of: id) }
        stale = []
        guard store.sorted.version != shown.version else { return false }
        let isSame = store.sorted.membership == shown.membership
        groups = nil
        shown = store.sorted
        if !isSame { peopleWithoutRooms.leaveOut(Set(rooms.flatMap { $0.participants.map(\.userId) })) }
        return true
    }

    private func takeCounts(of roomID: String) {
        guard let count = counts.latest(of: roomID) else { return }
        store.change(roomID) { room in
            room.elementCount = count.elements
            room.badges = Room.Badges(
                messages: count.unreadMessages, elements: count.unseenElements, others: count.otherBadges)
            room.hasUnread = count.hasUnread
        }
    }
}
