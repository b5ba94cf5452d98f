import Foundation

/// Boards on disk: the elements, the unsent changes, and the conflicts that the person has to resolve.
///
/// The elements are a cache. The changes exist nowhere else, and are on disk when `keep` returns. All work is done
/// off the main actor.
package actor BoardFiles {
    private static let format = 1
    private let all: RoomFiles
    private let elements: RoomFiles
    private let operations: RoomFiles
    private let isForced: Bool
    private var isRemoved = false

    private struct Contents<Item: Codable>: Codable {
        var format: Int
        var roomID: String
        var items: [Item]
        /// Stored with the changes; nil if there are none.
        var conflicts: [BoardConflict]?
    }

    struct Kept: Sendable {
        var elements: [Element] = []
        var operations: [BoardOperation] = []
        var conflicts: [BoardConflict] = []
        /// The new location of changes that this version cannot read.
        var setAside: URL?
    }

    /// - Parameter isForced: true to sync each change to the disk, so that it also survives a power cut.
    package init(files: RoomFiles, isForced: Bool = true) {
        self.isForced = isForced
        all = files
        elements = files.subfolder("elements")
        operations = files.subfolder("changes")
    }

    /// The rooms that have changes.
    func roomsWithChanges() -> [String] { (try? operations.keys()) ?? [] }

    /// Returns the number of changes and conflicts on disk for each room that has some. A file that this version cannot
    /// read counts as one.
    ///
    /// - Parameter others: the rooms to leave out.
    /// - Throws: the file system's error; the refusal `not_forgotten`.
    func unsentCounts(besides others: Set<String>) throws -> [String: Int] {
        guard !isRemoved else { return [:] }
        var counts: [String: Int] = [:]
        for roomID in try operations.keys() where !others.contains(roomID) {
            guard let data = try operations.read(roomID) else { continue }
            let contents = contents(of: BoardOperation.self, in: data)
            counts[roomID] = contents.map { $0.items.count + ($0.conflicts?.count ?? 0) } ?? 1
        }
        return counts
    }

    /// Reads a room's board. Changes that are broken, or of another format, are set aside.
    ///
    /// - Throws: the file system's error. Changes that cannot be read now stay in place.
    func read(_ roomID: String) throws -> Kept {
        guard !isRemoved else { return Kept() }
        var kept = Kept()
        if let data = try operations.read(roomID) {
            if let contents = contents(of: BoardOperation.self, in: data) {
                kept.operations = contents.items.map(\.withCountedVersion)
                kept.conflicts = contents.conflicts ?? []
            } else {
                kept.setAside = try operations.setAside(roomID)
            }
        }
        // `try?`: without the cache, less is shown until the server answers.
        if let data = try? elements.read(roomID) {
            kept.elements = contents(of: Element.self, in: data)?.items ?? []
        }
        return kept
    }

    /// Writes a room's elements to the cache.
    func keep(_ items: [Element], of roomID: String) {
        guard !isRemoved else { return }
        // A failed write loses nothing: the server has the elements.
        try? elements.write(
            JSONEncoder().encode(Contents(format: Self.format, roomID: roomID, items: items)), of: roomID,
            isForced: false)
    }

    /// Writes a room's unsent changes and conflicts, or removes the file if there are none.
    ///
    /// - Throws: the file system's error; the old file then stays.
    func keep(_ items: [BoardOperation], _ conflicts: [BoardConflict], of roomID: String) throws {
        guard !isRemoved else { return }
        guard items.isEmpty, conflicts.isEmpty else {
            let contents = Contents(
                format: Self.format, roomID: roomID, items: items, conflicts: conflicts.isEmpty ? nil : conflicts)
            return try operations.write(JSONEncoder().encode(contents), of: roomID, isForced: isForced)
        }
        // `try?`: if the file stays, its changes are sent again after a restart, and have no effect then.
        try? operations.remove(roomID)
    }

    /// Removes a room's files.
    func remove(_ roomID: String) {
        // `try?`: a file that cannot be removed stays until the person signs out.
        try? elements.remove(roomID)
        try? operations.remove(roomID)
    }

    /// Removes everything, for a sign-out. Later calls read and write nothing.
    ///
    /// - Throws: the file system's first error, after it has tried everything.
    func removeAll() throws {
        isRemoved = true
        let removals = [operations, elements, all].map { files in Result { try files.removeAll() } }
        for removal in removals { try removal.get() }
    }

    /// Decodes a file; nil if the data is broken or has another format.
    private func contents<Item: Codable>(of type: Item.Type, in data: Data) -> Contents<Item>? {
        guard let contents = try? JSONDecoder().decode(Contents<Item>.self, from: data),
            contents.format == Self.format
        else { return nil }
        return contents
    }
}
