// What a start shows: the rooms on disk, then those of the server, with or without a socket.
extension RoomList {
    /// Shows what was kept, and asks for all rooms, unless there has been an answer or one is on its way. Not waiting for a socket:
    /// it may never come.
    public func loadFirst() {
        guard running == nil, !isLoaded else { return }
        running = Task { await load() }
    }

    /// What could not be had before can be now; the socket's word that all that was missed is told may take its time.
    func loadWhatFailed() {
        if failure != nil { Task { await refresh() } } else { loadFirst() }
    }

    /// Shows what was kept, unless there is something newer.
    func showKept() async {
        guard let cache, !isLoaded, rooms.isEmpty else { return }
        let kept = await cache.rooms()
        guard !isLoaded, rooms.isEmpty, !kept.isEmpty else { return }
        let load = store.beginLoad()
        _ = store.finish(load, with: kept, now: clock.now)
        counts.load(kept)
        show()
    }

    /// Keeps the rooms as they are shown: after each answer, so that one which is gone from the list is gone from the disk.
    func keepRooms() {
        guard let cache else { return }
        isToBeKept = true
        guard keeping == nil else { return }
        keeping = Task {
            while isToBeKept {
                isToBeKept = false
                await cache.keep(rooms)
            }
            keeping = nil
        }
    }
}
