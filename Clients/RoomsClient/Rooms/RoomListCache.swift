import Foundation

/// The rooms as the server had them last, on disk, so that a start without a network shows them.
///
/// It holds nothing that the server does not: a file that is broken, or of another format, is dropped, and a write that fails is
/// forgotten. All work is done off the main actor.
public actor RoomListCache {
    private static let format = 1
    /// The name of the only file, instead of a room's.
    private static let name = "rooms"

    private let files: RoomFiles
    private var isRemoved = false

    private struct Contents: Codable {
        var format: Int
        var rooms: [Room]
    }

    /// - Parameter folder: of one person on one server, and of this cache alone.
    public init(folder: URL) { files = RoomFiles(folder: folder) }

    /// The cached rooms. Nobody is present in them: that was true only then.
    public func rooms() -> [Room] {
        // One that cannot be read now, before the device is unlocked for one, can be the next time.
        guard let data = try? files.read(Self.name) else { return [] }
        do {
            let contents = try JSONDecoder().decode(Contents.self, from: data)
            guard contents.format == Self.format else { throw CocoaError(.fileReadCorruptFile) }
            return contents.rooms.map(\.withoutPresence)
        } catch {
            // One that cannot be removed cannot be read either, or is replaced by the next write.
            try? files.remove(Self.name)
            return []
        }
    }

    /// Replaces what is kept.
    public func keep(_ rooms: [Room]) {
        guard !isRemoved else { return }
        // The next start without a network shows an older list, or none: nothing to tell anyone.
        try? files.write(
            JSONEncoder().encode(Contents(format: Self.format, rooms: rooms)), of: Self.name, isForced: false)
    }

    /// Signed out: nothing stays on this device, and what is still under way brings nothing back.
    public func removeAll() throws {
        isRemoved = true
        try files.removeAll()
    }
}

extension Room {
    fileprivate var withoutPresence: Room {
        var room = self
        room.isActive = false
        for index in room.participants.indices { room.participants[index].isPresent = false }
        return room
    }
}
