// The timing of what is shown: the person's actions and the server's answers at once, events at
// most once in 100 ms.
extension RoomList {
    /// Shows what an event has changed: at once, or with all that follows within 100 ms.
    ///
    /// A new or removed room is always shown at once, as other code that creates rooms relies on
    /// it.
    func showSoon(_ roomID: String) {
        stale.insert(roomID)
        if isResting, store.sorted.membership == shown.membership { return }
        show()
        guard !isResting else { return }
        isResting = true
        // A list that is no longer shown stops for good.
        Task { [weak self, clock] in
            repeat {
                // Only cancelling would end the sleep early, and nothing cancels it.
                try? await clock.sleep(for: RoomCountManager.interval)
            } while self?.showAgain() == true
        }
    }

    private func showAgain() -> Bool {
        isResting = show()
        return isResting
    }

    /// - Returns: whether it was not shown already.
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
            room.badges = Room.Badges(messages: count.unreadMessages, elements: count.unseenElements)
            room.hasUnread = count.hasUnread
        }
    }
}
