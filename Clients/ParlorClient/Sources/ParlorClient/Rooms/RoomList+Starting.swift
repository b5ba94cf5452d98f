// After a start, the list shows cached rooms, and then the server's, with or without a socket.
extension RoomList {
    /// Shows the cached rooms and fetches all rooms, unless they were already fetched or are being fetched.
    ///
    /// It does not wait for the socket, which may never connect. Returns at once.
    public func loadFirst() {
        guard running == nil, !isLoaded else { return }
        running = Task { await load() }
    }

    /// Repeats a failed load when the socket connects, without waiting for `sync:done`, which may take a while.
    func loadWhatFailed() {
        if failure != nil { Task { await refresh() } } else { loadFirst() }
    }

    /// Shows the cached rooms, unless the list already has rooms.
    func showKept() async {
        guard let cache, !isLoaded, rooms.isEmpty else { return }
        let kept = await cache.rooms()
        guard !isLoaded, rooms.isEmpty, !kept.isEmpty else { return }
        let load = store.beginLoad()
        _ = store.finish(load, with: kept, now: clock.now)
        counts.load(kept)
        show()
    }

    /// Writes the rooms to the cache, with what events have changed since the last answer. Returns when that is done.
    func keepAll() async {
        // The cache may still have rooms that were never shown here.
        guard isLoaded else { return }
        show()
        keepRooms()
        // This ends the cache's pause.
        keeping?.cancel()
        await keeping?.value
    }

    /// Starts to write the rooms to the cache. It is called after each answer, so that a removed room is also removed
    /// from the disk, and after the event of a new room.
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
