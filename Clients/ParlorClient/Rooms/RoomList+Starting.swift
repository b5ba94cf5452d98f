// The rooms shown after a start: cached ones, then those of the server, with or without a socket.
extension RoomList {
    /// Shows the cached rooms and fetches all rooms, unless they are already there or being fetched. It does
    /// not wait for a socket, which may never connect.
    public func loadFirst() {
        guard running == nil, !isLoaded else { return }
        running = Task { await load() }
    }

    /// Repeats a failed load when the socket connects: `sync:done` may take a while.
    func loadWhatFailed() {
        if failure != nil { Task { await refresh() } } else { loadFirst() }
    }

    /// Shows the cached rooms, unless newer ones are shown.
    func showKept() async {
        guard let cache, !isLoaded, rooms.isEmpty else { return }
        let kept = await cache.rooms()
        guard !isLoaded, rooms.isEmpty, !kept.isEmpty else { return }
        let load = store.beginLoad()
        _ = store.finish(load, with: kept, now: clock.now)
        counts.load(kept)
        show()
    }

    /// Caches the shown rooms after each answer, so that a removed room also leaves the disk.
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
