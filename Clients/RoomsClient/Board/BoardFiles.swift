import Foundation

/// Boards on disk: the elements, so that one shows something at once, and the changes that the server does not have, with the contents
/// that wait for their person to decide.
///
/// Elements are a cache: the server has them. A change is its person's, and is on disk when `keep` returns. All work is done off the
/// main actor.
public actor BoardFiles {
    private static let format = 1
    private let elements: RoomFiles
    private let operations: RoomFiles
    private let isForced: Bool
    private var isRemoved = false

    private struct Contents<Item: Codable>: Codable {
        var format: Int
        var roomID: String
        var items: [Item]
        /// Beside changes; nil if there are none.
        var conflicts: [BoardConflict]?
    }

    struct Kept: Sendable {
        var elements: [Element] = []
        var operations: [BoardOperation] = []
        var conflicts: [BoardConflict] = []
        /// Where changes stand now that this version cannot read.
        var setAside: URL?
    }

    /// - Parameters:
    ///   - folder: of one person on one server, and of boards alone.
    ///   - isForced: true if a change survives a loss of power too, not only the end of the app.
    public init(folder: URL, isForced: Bool = true) {
        self.isForced = isForced
        elements = RoomFiles(folder: folder.appending(path: "elements", directoryHint: .isDirectory))
        operations = RoomFiles(folder: folder.appending(path: "changes", directoryHint: .isDirectory))
    }

    /// The rooms that have changes.
    func roomsWithChanges() -> [String] { (try? operations.keys()) ?? [] }

    /// Changes that are broken, or of another format, are put aside.
    ///
    /// - Throws: what the file system says. Changes that cannot be read now stay where they are.
    func read(_ roomID: String) throws -> Kept {
        guard !isRemoved else { return Kept() }
        var kept = Kept()
        if let data = try operations.read(roomID) {
            if let contents = contents(of: BoardOperation.self, in: data) {
                (kept.operations, kept.conflicts) = (contents.items, contents.conflicts ?? [])
            } else {
                kept.setAside = try operations.setAside(roomID)
            }
        }
        // Without it there is less to show until the server has answered.
        if let data = try? elements.read(roomID) {
            kept.elements = contents(of: Element.self, in: data)?.items ?? []
        }
        return kept
    }

    func keep(_ items: [Element], of roomID: String) {
        guard !isRemoved else { return }
        // The server has them.
        try? elements.write(
            JSONEncoder().encode(Contents(format: Self.format, roomID: roomID, items: items)), of: roomID,
            isForced: false)
    }

    /// - Throws: what the file system says; then the disk has what it had.
    func keep(_ items: [BoardOperation], _ conflicts: [BoardConflict], of roomID: String) throws {
        guard !isRemoved else { return }
        guard items.isEmpty, conflicts.isEmpty else {
            let contents = Contents(
                format: Self.format, roomID: roomID, items: items, conflicts: conflicts.isEmpty ? nil : conflicts)
            return try operations.write(JSONEncoder().encode(contents), of: roomID, isForced: isForced)
        }
        // If it stays, the changes are sent again after a restart, and take effect once.
        try? operations.remove(roomID)
    }

    func remove(_ roomID: String) {
        // A file that cannot be removed stays until the person signs out.
        try? elements.remove(roomID)
        try? operations.remove(roomID)
    }

    /// Signed out: nothing stays on this device, and what is still under way brings nothing back.
    func removeAll() throws {
        isRemoved = true
        try elements.removeAll()
        try operations.removeAll()
        try RoomFiles(folder: elements.folder.deletingLastPathComponent()).removeAll()
    }

    /// - Returns: nil if it is broken, or of another format.
    private func contents<Item: Codable>(of type: Item.Type, in data: Data) -> Contents<Item>? {
        guard let contents = try? JSONDecoder().decode(Contents<Item>.self, from: data),
            contents.format == Self.format
        else { return nil }
        return contents
    }
}
