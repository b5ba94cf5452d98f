/// Writes the rooms of a list to its cache.
@MainActor
final class RoomListKeeper {
    private let cache: RoomListCache?
    /// True if the cache has to be written again.
    private var isBehind = false
    private(set) var writing: Task<Void, Never>?

    /// - Parameter cache: nil to write nothing.
    init(_ cache: RoomListCache?) { self.cache = cache }

    /// Starts to write. Changes during a write are written after it.
    func write(_ rooms: @escaping @MainActor () -> [Room]) {
        guard let cache else { return }
        isBehind = true
        guard writing == nil else { return }
        writing = Task {
            while isBehind {
                isBehind = false
                await cache.keep(rooms())
            }
            writing = nil
        }
    }

    /// Ends the cache's pause, and returns when everything is on disk.
    func finish() async {
        writing?.cancel()
        await writing?.value
    }
}
