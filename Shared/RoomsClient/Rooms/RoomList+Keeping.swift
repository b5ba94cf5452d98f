// The rooms on disk: what a start shows before the server has answered.
extension RoomList {
    /// Shows what was kept, unless there is something newer.
    func showKept() async {
        guard let cache, !isLoaded, shelf.rooms.isEmpty else { return }
        let kept = await cache.rooms()
        guard !isLoaded, shelf.rooms.isEmpty, !kept.isEmpty else { return }
        let load = shelf.beginLoad()
        _ = shelf.finish(load, with: kept, now: clock.now)
        counts.load(kept)
        show()
    }

    /// Keeps the rooms as they are: after each answer, so that one which is gone from the list is gone from the disk.
    func keepRooms() {
        guard let cache else { return }
        isToBeKept = true
        guard keeping == nil else { return }
        keeping = Task {
            while isToBeKept {
                isToBeKept = false
                await cache.keep(shelf.rooms)
            }
            keeping = nil
        }
    }
}
