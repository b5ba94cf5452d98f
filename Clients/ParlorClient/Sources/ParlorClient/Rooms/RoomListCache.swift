import Foundation

/// Caches the list of rooms on disk, so that a start without a network can show it.
///
/// Changed rooms are appended to a journal beside the main file. When the journal would exceed half the main
/// file's size, the main file is rewritten. Changes within half a second are written together.
///
/// The server has everything that is in the cache. So a broken file, or one of another format, is deleted, and
/// a failed write is ignored. All work is done off the main actor.
package actor RoomListCache {
    private static let format = 1
    /// The name of the main file.
    private static let name = "rooms"
    /// The time within which changes are written together.
    static let pause: Duration = .milliseconds(500)

    private let files: RoomFiles
    private let clock: (any ClientClock)?
    private var isRemoved = false
    /// The rooms in the files, by id; nil if the next write has to replace all of them.
    private var written: [String: Room]?
    /// The id of the main file, which each line of its journal has.
    private var generation = ""
    private var fileSize = 0
    private var journalSize = 0
    /// The rooms to write after the pause.
    private var waiting: [Room]?

    private struct Contents: Codable {
        var format: Int
        var rooms: [Room]
        /// The id of the journal that belongs to this file.
        var generation: String?
    }

    private struct Line: Codable {
        var generation: String
        var room: Room
    }

    private var journal: URL { files.folder.appending(path: "rooms.journal") }

    /// - Parameter clock: measures the half second; nil to write at once.
    package init(files: RoomFiles, clock: (any ClientClock)? = nil) {
        self.files = files
        self.clock = clock
    }

    /// Returns the cached rooms. Their presence is out of date; a ``RoomList`` ignores it.
    package func rooms() -> [Room] {
        // A file that cannot be read now, such as before the device is unlocked, may be readable later.
        guard let data = try? files.read(Self.name) else { return [] }
        do {
            let contents = try JSONDecoder().decode(Contents.self, from: data)
            guard contents.format == Self.format else { throw CocoaError(.fileReadCorruptFile) }
            var rooms = Dictionary(contents.rooms.map { ($0.id, $0) }) { $1 }
            let (lines, isWhole) = lines(of: contents.generation)
            for line in lines { rooms[line.room.id] = line.room }
            // If the last line is cut off, a line appended to it could not be read. So the next write replaces
            // everything.
            if waiting == nil, written == nil, isWhole {
                (written, generation, fileSize) = (rooms, contents.generation ?? "", data.count)
            }
            let order = Dictionary(contents.rooms.enumerated().map { ($1.id, $0) }) { $1 }
            return rooms.values.sorted { (order[$0.id] ?? -1, $0.id) < (order[$1.id] ?? -1, $1.id) }
        } catch {
            // `try?`: a file that cannot be removed stays until the next write replaces it.
            try? files.remove(Self.name)
            return []
        }
    }

    /// Replaces the cached rooms, and returns when they are written. If an earlier call is waiting, that call
    /// writes them and this one returns at once.
    package func keep(_ rooms: [Room]) async {
        guard !isRemoved else { return }
        let isFirst = waiting == nil
        waiting = rooms
        guard isFirst else { return }
        // A cancellation ends the pause, and the rooms are written at once.
        if written != nil { try? await clock?.sleep(for: Self.pause) }
        guard let rooms = waiting, !isRemoved else { return }
        waiting = nil
        // A failed write is ignored: the next start offline shows an older list, or none.
        do { try write(rooms) } catch { written = nil }
    }

    /// Removes everything after signing out. Nothing is written any more.
    package func removeAll() throws {
        isRemoved = true
        (waiting, written) = (nil, nil)
        try files.removeAll()
    }

    private func write(_ rooms: [Room]) throws {
        guard let written, !generation.isEmpty, fileSize > 0 else { return try writeAll(rooms) }
        // A removed room must not stay in a file.
        guard Set(written.keys).isSubset(of: rooms.map(\.id)) else { return try writeAll(rooms) }
        let encoder = JSONEncoder()
        var data = Data()
        for room in rooms where written[room.id] != room {
            data += try encoder.encode(Line(generation: generation, room: room))
            data.append(UInt8(ascii: "\n"))
        }
        guard !data.isEmpty else { return }
        guard journalSize + data.count <= fileSize / 2 else { return try writeAll(rooms) }
        try files.logging("not written") { try append(data) }
        journalSize += data.count
        note(rooms)
    }

    private func append(_ data: Data) throws {
        FileSteps.note()
        if !FileManager.default.fileExists(atPath: journal.path) {
            guard FileManager.default.createFile(atPath: journal.path, contents: nil) else {
                throw CocoaError(.fileWriteUnknown)
            }
        }
        let file = try FileHandle(forWritingTo: journal)
        defer { try? file.close() }  // an error does not matter: the system already has the data
        try file.seekToEnd()
        try file.write(contentsOf: data)
    }

    private func writeAll(_ rooms: [Room]) throws {
        generation = UUID().uuidString
        let data = try JSONEncoder().encode(Contents(format: Self.format, rooms: rooms, generation: generation))
        try files.write(data, of: Self.name, isForced: false)
        // If the old journal stays, it is ignored, because it has another generation.
        try? FileManager.default.removeItem(at: journal)
        (fileSize, journalSize) = (data.count, 0)
        note(rooms)
    }

    private func note(_ rooms: [Room]) { written = Dictionary(rooms.map { ($0.id, $0) }) { $1 } }

    /// - Returns: the journal's lines for a main file, and false if the last line was cut off.
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
