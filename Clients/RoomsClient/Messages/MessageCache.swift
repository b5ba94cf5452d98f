import Foundation

/// The newest messages of the rooms last opened, so that a room shows something at once.
///
/// It holds nothing that the server does not: a file that is broken, or of another format, is dropped, and a write that fails is
/// forgotten. All work is done off the main actor.
public actor MessageCache {
    private static let format = 1

    /// The maximum of messages of each room.
    public nonisolated let messageLimit: Int
    private let roomLimit: Int
    private let files: RoomFiles
    private let clock: any ClientClock
    /// When each room with a file was last opened.
    private var openedAt: [String: Date]?
    /// Rooms that may be written: opened, and not removed since.
    private var open: Set<String> = []
    private var isRemoved = false

    private struct Contents: Codable {
        var format: Int
        var messages: [Message]
    }

    /// - Parameter folder: of one person on one server, and of this cache alone.
    public init(folder: URL, clock: any ClientClock, messageLimit: Int = 50, roomLimit: Int = 50) {
        files = RoomFiles(folder: folder)
        self.clock = clock
        self.messageLimit = messageLimit
        self.roomLimit = roomLimit
    }

    /// The cached messages of a room that is opened now, ascending.
    public func openRoom(_ roomID: String) -> [Message] {
        if isRemoved { return [] }
        open.insert(roomID)
        // One that cannot be read now, before the device is unlocked for one, can be the next time.
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

    /// Replaces what is kept of a room, with the last of these. Only of a room that was opened, and not removed since: what is
    /// still under way does not bring a removed room back.
    public func keep(_ messages: [Message], of roomID: String) {
        guard open.contains(roomID) else { return }
        // Before the write: of the files that are there, this one may be new.
        let isNew = opened()[roomID] == nil
        do {
            let contents = Contents(format: Self.format, messages: messages.suffix(messageLimit))
            try files.write(JSONEncoder().encode(contents), of: roomID, isForced: false)
            if isNew {
                openedAt?[roomID] = clock.now
                evict()
            }
            stamp(roomID)
        } catch {
            // The next room entered is shown a moment later: nothing to tell anyone.
        }
    }

    /// The person is no longer in the room, or has signed out of it.
    public func remove(_ roomID: String) {
        open.remove(roomID)
        forget(roomID)
    }

    /// Signed out: nothing stays on this device, and nothing comes to it again.
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
        // One that cannot be removed cannot be read either, or is replaced by the next write.
        try? files.remove(roomID)
    }

    private func evict() {
        let oldestFirst = opened().sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        for (roomID, _) in oldestFirst.prefix(max(0, oldestFirst.count - roomLimit)) { forget(roomID) }
    }

    /// The file's time is when its room was opened, not when it was written.
    private func stamp(_ roomID: String) {
        guard let time = openedAt?[roomID] else { return }
        // Without it the room is evicted in another order, no more.
        try? FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: files.url(of: roomID).path)
    }

    /// From the files, the first time.
    private func opened() -> [String: Date] {
        if let openedAt { return openedAt }
        var times: [String: Date] = [:]
        // A folder that cannot be listed is as good as empty: nothing is evicted.
        for roomID in (try? files.keys()) ?? [] {
            let attributes = try? FileManager.default.attributesOfItem(atPath: files.url(of: roomID).path)
            times[roomID] = attributes?[.modificationDate] as? Date ?? .distantPast
        }
        openedAt = times
        return times
    }
}
