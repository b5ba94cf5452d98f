import Foundation

/// Caches the newest messages of the rooms opened last, so that a room shows something at once.
///
/// The server has everything that is in the cache. So a broken file, or one of another format, is
/// deleted, and a failed write is not an error. All work is done off the main actor.
public actor MessageCache {
    private static let format = 1

    /// The maximum number of messages for each room.
    public nonisolated let messageLimit: Int
    private let roomLimit: Int
    private let files: RoomFiles
    private let clock: any ClientClock
    /// The time at which each room with a file was last opened.
    private var openedAt: [String: Date]?
    /// Rooms that may be written: opened, and not removed since.
    private var open: Set<String> = []
    private var isRemoved = false

    private struct Contents: Codable {
        var format: Int
        var messages: [Message]
    }

    /// - Parameter folder: a folder for one person on one server, used by this cache alone.
    public init(folder: URL, clock: any ClientClock, messageLimit: Int = 50, roomLimit: Int = 50) {
        self.init(folder: folder, clock: clock, messageLimit: messageLimit, roomLimit: roomLimit, mark: nil)
    }

    init(folder: URL, clock: any ClientClock, messageLimit: Int, roomLimit: Int, mark: SignOutMark?) {
        files = RoomFiles(folder: folder, mark: mark)
        self.clock = clock
        self.messageLimit = messageLimit
        self.roomLimit = roomLimit
    }

    /// Opens a room, and returns its cached messages in ascending order.
    public func openRoom(_ roomID: String) -> [Message] {
        if isRemoved { return [] }
        open.insert(roomID)
        // A file that cannot be read now, such as before the device is unlocked, may be readable
        // later.
        guard let data = try? files.read(roomID) else { return [] }
        do {
            let contents = try JSONDecoder().decode(Contents.self, from: data)
            guard contents.format == Self.format else { throw CocoaError(.fileReadCorruptFile) }
            noteOpened(roomID)
            return contents.messages.filter { $0.roomId == roomID }
        } catch {
            forget(roomID)
            return []
        }
    }

    /// Replaces the cached messages of a room with the last ``messageLimit`` of these. Does nothing for a room that
    /// is not open, so that a late call does not bring a removed room back.
    ///
    /// - Returns: true if the cache now has these messages.
    @discardableResult
    public func keep(_ messages: [Message], of roomID: String) -> Bool {
        guard open.contains(roomID) else { return false }
        // Read before the write: the first call of `opened()` lists the files, which must not include this one.
        let isNew = opened()[roomID] == nil
        do {
            let contents = Contents(format: Self.format, messages: messages.suffix(messageLimit))
            try files.write(JSONEncoder().encode(contents), of: roomID, isForced: false)
            if isNew {
                openedAt?[roomID] = clock.now
                evict(for: roomID)
            }
            stamp(roomID)
            return true
        } catch {
            // The file keeps the earlier messages. Until a write succeeds, a visit shows those first.
            return false
        }
    }

    /// Removes a room that the person has left.
    public func remove(_ roomID: String) {
        open.remove(roomID)
        forget(roomID)
    }

    /// Removes everything after signing out. Nothing is written any more.
    public func removeAll() throws {
        isRemoved = true
        open = []
        openedAt = [:]
        try files.removeAll()
    }

    private func noteOpened(_ roomID: String) {
        _ = opened()
        openedAt?[roomID] = clock.now
        stamp(roomID)
    }

    private func forget(_ roomID: String) {
        openedAt?[roomID] = nil
        // `try?`: a file that cannot be removed stays until the next write replaces it, or the person signs out.
        try? files.remove(roomID)
    }

    /// Removes the oldest rooms beyond the limit, but never the new one. After the clock was set back, the new one may
    /// seem to be the oldest.
    private func evict(for newRoomID: String) {
        let others = opened().filter { $0.key != newRoomID }
        let oldestFirst = others.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        for (roomID, _) in oldestFirst.prefix(max(0, oldestFirst.count + 1 - roomLimit)) { forget(roomID) }
    }

    /// Sets the file's modification date to the time when its room was opened, which decides what is evicted.
    private func stamp(_ roomID: String) {
        guard let time = openedAt?[roomID] else { return }
        // A failure only changes the order of eviction.
        try? FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: files.url(of: roomID).path)
    }

    /// Returns the opening times, which the first call reads from the files.
    private func opened() -> [String: Date] {
        if let openedAt { return openedAt }
        var times: [String: Date] = [:]
        // A folder that cannot be listed counts as empty: nothing is evicted.
        for roomID in (try? files.keys()) ?? [] {
            let attributes = try? FileManager.default.attributesOfItem(atPath: files.url(of: roomID).path)
            times[roomID] = attributes?[.modificationDate] as? Date ?? .distantPast
        }
        // These times are in the future, because the clock was ahead. Without this change, these rooms would not be
        // evicted before then.
        let now = clock.now
        let early = times.filter { $0.value > now }.keys
        for roomID in early { times[roomID] = now }
        openedAt = times
        for roomID in early { stamp(roomID) }
        return times
    }
}
