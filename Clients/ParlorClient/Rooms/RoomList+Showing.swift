// When changes are shown: answers and the person's own actions at once, events at most once in 100 ms.
extension RoomList {
    /// Shows the change of an event. It is shown at once, unless another was shown within the last 100 ms. In that case
    /// it is shown when those 100 ms are over, together with other changes.
    ///
    /// A new or removed room is always shown at once, because code that creates rooms relies on it.
    func showSoon(_ roomID: String) {
        stale.insert(roomID)
        if isResting, store.sorted.membership == shown.membership { return }
        show()
        guard !isResting else { return }
        isResting = true
        // `weak`: the task ends with the list.
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

    /// Shows all changes made so far.
    ///
    /// - Returns: true if there were any.
    @discardableResult
    func show() -> Bool {
        for id in stale { takeCounts(of: id) }
        stale = []
        guard store.sorted.version != shown.version else { return false }
        let isSame = store.sorted.membership == shown.membership
        groups = nil
        shown = store.sorted
        if !isSame { peopleWithoutRooms.leaveOut(Set(rooms.flatMap { $0.participants.map(\.userID) })) }
        return true
    }

    private func takeCounts(of roomID: String) {
        guard let count = counts.shownCount(of: roomID) else { return }
        store.change(roomID) { room in
            room.elementCount = count.elements
            room.badges = Room.Badges(
                messages: count.unreadMessages, elements: count.unseenElements, others: count.otherBadges)
            room.hasUnread = count.hasUnread
        }
    }
}
