import Foundation

/// The rooms as the server had them last, on disk, so that a start without a network shows them.
///
/// A change costs what has changed: it is appended to a journal beside the file with all, which is written anew when the journal has
/// grown to half its size. What comes within half a second is written together.
///
/// It holds nothing that the server does not: a file that is broken, or of another format, is dropped, and a write that fails is
/// forgotten. All work is done off the main actor.
public actor RoomListCache {
    private static let format = 1
    /// The name of the only file, instead of a room's.
    private static let name = "rooms"
    static let pause: Duration = .milliseconds(500)

    private let files: RoomFiles
    private let clock: (any ClientClock)?
    private var isRemoved = false
    /// The rooms as the files have them, by id; nil if that is not known.
    private var written: [String: Room]?
    private var generation = ""
    private var fileSize = 0
    private var journalSize = 0
    private var waiting: [Room]?

    private struct Contents: Codable {
        var format: Int
        var rooms: [Room]
        /// Which journal belongs to it.
        var generation: String?
    }

    private struct Line: Codable {
        var generation: String
        var room: Room
    }

    private var journal: URL { files.folder.appending(path: "rooms.journal") }

    /// - Parameters:
    ///   - folder: of one person on one server, and of this cache alone.
    ///   - clock: for the half second; nil: everything is written at once.
    public init(folder: URL, clock: (any ClientClock)? = nil) {
        files = RoomFiles(folder: folder)
        self.clock = clock
    }

    /// The cached rooms. Nobody is present in them: that was true only then.
    public func rooms() -> [Room] {
        // One that cannot be read now, before the device is unlocked for one, can be the next time.
        guard let data = try? files.read(Self.name) else { return [] }
        do {
            let contents = try JSONDecoder().decode(Contents.self, from: data)
            guard contents.format == Self.format else { throw CocoaError(.fileReadCorruptFile) }
            var rooms = Dictionary(contents.rooms.map { ($0.id, $0) }) { $1 }
            let (lines, isWhole) = lines(of: contents.generation)
            for line in lines { rooms[line.room.id] = line.room }
            // Appended to a line that was cut off, the next one could not be read: then all is written anew.
            if waiting == nil, written == nil, isWhole {
                (written, generation, fileSize) = (rooms, contents.generation ?? "", data.count)
            }
            let order = Dictionary(contents.rooms.enumerated().map { ($1.id, $0) }) { $1 }
            return rooms.values.sorted { (order[$0.id] ?? -1, $0.id) < (order[$1.id] ?? -1, $1.id) }.map(
                \.withoutPresence)
        } catch {
            // One that cannot be removed cannot be read either, or is replaced by the next write.
            try? files.remove(Self.name)
            return []
        }
    }

    /// Replaces the cached rooms. Returns when they are written, with later ones that came meanwhile; or at once, if an earlier call still
    /// waits: that one writes them.
    public func keep(_ rooms: [Room]) async {
        guard !isRemoved else { return }
        let isFirst = waiting == nil
        waiting = rooms
        guard isFirst else { return }
        // Cut short, it is written at once.
        if written != nil { try? await clock?.sleep(for: Self.pause) }
        guard let rooms = waiting, !isRemoved else { return }
        waiting = nil
        // The next start without a network shows an older list, or none: nothing to tell anyone.
        do { try write(rooms) } catch { written = nil }
    }

    /// Signed out: nothing stays on this device, and what is still under way brings nothing back.
    public func removeAll() throws {
        isRemoved = true
        (waiting, written) = (nil, nil)
        try files.removeAll()
    }

    private func write(_ rooms: [Room]) throws {
        guard let written, !generation.isEmpty, fileSize > 0 else { return try writeAll(rooms) }
        // A room that is gone must not stay in a file.
        guard Set(written.keys).isSubset(of: rooms.map(\.id)) else { return try writeAll(rooms) }
        let encoder = JSONEncoder()
        var data = Data()
        for room in rooms where written[room.id] != room {
            data += try encoder.encode(Line(generation: generation, room: room))
            data.append(UInt8(ascii: "\n"))
        }
        guard !data.isEmpty else { return }
        guard journalSize + data.count <= fileSize / 2 else { return try writeAll(rooms) }
        if !FileManager.default.fileExists(atPath: journal.path) {
            guard FileManager.default.createFile(atPath: journal.path, contents: nil) else {
                throw CocoaError(.fileWriteUnknown)
            }
        }
        let file = try FileHandle(forWritingTo: journal)
        defer { try? file.close() }  // what was written is with the system
        try file.seekToEnd()
        try file.write(contentsOf: data)
        journalSize += data.count
        note(rooms)
    }

    private func writeAll(_ rooms: [Room]) throws {
        generation = UUID().uuidString
        let data = try JSONEncoder().encode(Contents(format: Self.format, rooms: rooms, generation: generation))
        try files.write(data, of: Self.name, isForced: false)
        // Of another generation from now on: left behind, it is passed over.
        try? FileManager.default.removeItem(at: journal)
        (fileSize, journalSize) = (data.count, 0)
        note(rooms)
    }

    private func note(_ rooms: [Room]) { written = Dictionary(rooms.map { ($0.id, $0) }) { $1 } }

    /// - Returns: false if the last line was cut off; it is left out.
    private func lines(of generation: String?) -> ([Line], isWhole: Bool) {
        guard let generation, let data = try? Data(contentsOf: journal) else { return ([], true) }
        journalSize = data.count
        var lines: [Line] = []
        for text in data.split(separator: UInt8(ascii: "\n")) {
            guard let line = try? JSONDecoder().decode(Line.self, from: Data(text)), line.generation == generation
            else { continue }
            lines.append(line)
        }
        return (lines, data.isEmpty || data.last == UInt8(ascii: "\n"))
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
