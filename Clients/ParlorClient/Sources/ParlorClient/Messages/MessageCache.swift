import Foundation

/// Caches the newest messages of the rooms opened last, so that a room shows something at once.
///
/// The server has everything that is in the cache. So a broken file, or one of another format, is
/// deleted, and a failed write is not an error. All work is done off the main actor.
package actor MessageCache {
    private static let format = 1

    /// The maximum number of messages for each room.
    package nonisolated let messageLimit: Int
    private let roomLimit: Int
    private let files: RoomFiles
    private let clock: any ClientClock
    /// The time at which each room with a file was last opened.
    private var openedAt: [String: Date]?
    /// Rooms that may be written: opened, and not removed since.
    private var open: Set<String> = []
    private var isRemoved = false
    /// The file with the position up to which cached messages may have all events.
    private let positionFiles: RoomFiles
    private static let positionKey = "position"

    private struct Contents: Codable {
        var format: Int
        var messages: [Message]
        var step: String?
        var hasOlder: Bool?
    }

    package init(files: RoomFiles, clock: any ClientClock, messageLimit: Int = 50, roomLimit: Int = 50) {
        self.files = files
        positionFiles = files.subfolder("sync")
        self.clock = clock
        self.messageLimit = messageLimit
        self.roomLimit = roomLimit
    }

    /// Opens a room, and returns its cached messages in ascending order.
    package func openRoom(_ roomID: String) -> [Message] { open(roomID).messages }

    /// Opens a room, and returns its cached messages.
    func open(_ roomID: String) -> CachedMessages {
        if isRemoved { return CachedMessages() }
        open.insert(roomID)
        guard let cached = read(roomID) else { return CachedMessages() }
        noteOpened(roomID)
        return cached
    }

    private func read(_ roomID: String) -> CachedMessages? {
        // A file that cannot be read now, such as before the device is unlocked, may be readable
        // later.
        guard let data = try? files.read(roomID) else { return nil }
        do {
            let contents = try JSONDecoder().decode(Contents.self, from: data)
            guard contents.format == Self.format else { throw CocoaError(.fileReadCorruptFile) }
            let messages = contents.messages.filter { $0.roomID == roomID }
            return CachedMessages(messages, step: contents.step, hasOlder: contents.hasOlder ?? true)
        } catch {
            forget(roomID)
            return nil
        }
    }

    /// Replaces the cached messages of a room with the last ``messageLimit`` of these. Does nothing for a room that
    /// is not open, so that a late call does not bring a removed room back.
    ///
    /// - Returns: true if the cache now has these messages.
    @discardableResult
    package func keep(_ messages: [Message], of roomID: String) -> Bool {
        keep(CachedMessages(messages.suffix(messageLimit)), of: roomID)
    }

    /// Replaces the cached messages of a room, as ``keep(_:of:)`` does.
    func keep(_ cached: CachedMessages, of roomID: String) -> Bool {
        guard open.contains(roomID) else { return false }
        return write(cached, of: roomID)
    }

    private func write(_ cached: CachedMessages, of roomID: String) -> Bool {
        // Read before the write: the first call of `opened()` lists the files, which must not include this one.
        let isNew = opened()[roomID] == nil
        do {
            let contents = Contents(
                format: Self.format, messages: cached.messages, step: cached.step, hasOlder: cached.hasOlder)
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

    /// Returns the position up to which cached messages may have all events; nil if it is unknown.
    func position() -> FreshRooms.Position? {
        if isRemoved { return nil }
        // Without the position, or with a broken one, the socket begins anew, and rooms are fetched again.
        guard let data = try? positionFiles.read(Self.positionKey) else { return nil }
        return try? JSONDecoder().decode(FreshRooms.Position.self, from: data)
    }

    /// Stores a position. If that fails, the next run of the app begins at the one before.
    func keep(_ position: FreshRooms.Position) {
        if isRemoved { return }
        try? positionFiles.write(JSONEncoder().encode(position), of: Self.positionKey, isForced: false)
    }

    /// Stores the end of a replay. Cached messages that were current before the replay are brought up to its end.
    ///
    /// - Parameter stores: an empty store for each room with events. Rooms without one stay as they are.
    func keep(_ advance: FreshRooms.Advance, stores: [String: MessageStore]) {
        if isRemoved { return }
        // The position comes first: it says which rooms have changed. If the app ends now, those are fetched again.
        keep(advance.position)
        guard let step = advance.position.steps.last?.id else { return }
        for (roomID, events) in advance.events {
            guard let store = stores[roomID], opened()[roomID] != nil, let cached = read(roomID),
                advance.position.isCurrent(cached.step, in: roomID, leavingOutLast: true)
            else { continue }
            _ = write(cached.applying(events, to: store, limit: messageLimit, step: step), of: roomID)
        }
    }

    /// Removes a room that the person has left.
    package func remove(_ roomID: String) {
        open.remove(roomID)
        forget(roomID)
    }

    /// Removes everything after signing out. Nothing is written any more.
    package func removeAll() throws {
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
        // A time in the future comes from a clock that was ahead. If it stayed, its room would not be evicted before
        // that time.
        let now = clock.now
        let early = times.filter { $0.value > now }.keys
        for roomID in early { times[roomID] = now }
        openedAt = times
        for roomID in early { stamp(roomID) }
        return times
    }
}
