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
    }

    /// - Parameter folder: of one person on one server, and of boards alone.
    public init(folder: URL) {
        elements = RoomFiles(folder: folder.appending(path: "elements", directoryHint: .isDirectory))
        operations = RoomFiles(folder: folder.appending(path: "changes", directoryHint: .isDirectory))
    }

    /// The rooms that have changes.
    func roomsWithChanges() -> [String] { (try? operations.keys()) ?? [] }

    func read(_ roomID: String) -> Kept {
        let changes = read(BoardOperation.self, of: roomID, in: operations)
        return Kept(
            elements: read(Element.self, of: roomID, in: elements)?.items ?? [], operations: changes?.items ?? [],
            conflicts: changes?.conflicts ?? [])
    }

    func keep(_ items: [Element], of roomID: String) {
        write(Contents(format: Self.format, roomID: roomID, items: items), in: elements)
    }

    /// - Returns: false if the disk refuses.
    @discardableResult
    func keep(_ items: [BoardOperation], _ conflicts: [BoardConflict], of roomID: String) -> Bool {
        guard items.isEmpty, conflicts.isEmpty else {
            return write(
                Contents(
                    format: Self.format, roomID: roomID, items: items, conflicts: conflicts.isEmpty ? nil : conflicts),
                in: operations)
        }
        // If it stays, the changes are sent again after a restart, and take effect once.
        try? operations.remove(roomID)
        return true
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

    private func read<Item: Codable>(
        _ type: Item.Type, of roomID: String, in files: RoomFiles
    ) -> Contents<Item>? {
        guard !isRemoved, let data = try? files.read(roomID),
            let contents = try? JSONDecoder().decode(Contents<Item>.self, from: data), contents.format == Self.format
        else { return nil }
        return contents
    }

    @discardableResult
    private func write<Item: Codable>(_ contents: Contents<Item>, in files: RoomFiles) -> Bool {
        guard !isRemoved else { return false }
        do {
            try files.write(JSONEncoder().encode(contents), of: contents.roomID, isForced: false)
            return true
        } catch {
            return false
        }
    }
}
