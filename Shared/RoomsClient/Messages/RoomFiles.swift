import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// A folder with one small file a room.
struct RoomFiles: Sendable {
    let folder: URL

    func url(of roomID: String) -> URL { folder.appending(path: Self.name(of: roomID) + ".json") }

    /// The rooms that have a file.
    ///
    /// - Throws: what the file system says, but of a folder that is not there: that is empty.
    func roomIDs() throws -> [String] {
        guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).compactMap { name in
            guard name.hasSuffix(".json") else { return nil }
            return String(name.dropLast(5)).removingPercentEncoding
        }
    }

    /// - Returns: nil if there is no such file.
    func read(_ roomID: String) throws -> Data? {
        let url = url(of: roomID)
        guard FileManager.default.fileExists(atPath: url.path) else { return nil }
        return try Data(contentsOf: url)
    }

    /// Replaces the file whole, or not at all.
    ///
    /// - Parameter isForced: it is on the disk when this returns, and outlives the loss of power too.
    func write(_ data: Data, of roomID: String, isForced: Bool) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let url = url(of: roomID)
        // Not `.atomic`, which waits for the disk each time.
        let draft = url.appendingPathExtension("new")
        try data.write(to: draft)
        if isForced { try Self.force(draft) }
        guard rename(draft.path, url.path) == 0 else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: url.path])
        }
        // The name is the folder's: without this the old file may be back after a power cut.
        if isForced { try Self.force(folder) }
    }

    func remove(_ roomID: String) throws {
        let url = url(of: roomID)
        guard FileManager.default.fileExists(atPath: url.path) else { return }
        try FileManager.default.removeItem(at: url)
    }

    func removeAll() throws {
        guard FileManager.default.fileExists(atPath: folder.path) else { return }
        try FileManager.default.removeItem(at: folder)
    }

    /// Puts a file that cannot be read where nothing reads or replaces it.
    func setAside(_ roomID: String) throws -> URL {
        let url = url(of: roomID)
        var kept = url.appendingPathExtension("unreadable")
        var number = 1
        while FileManager.default.fileExists(atPath: kept.path) {
            number += 1
            kept = url.appendingPathExtension("unreadable-\(number)")
        }
        try FileManager.default.moveItem(at: url, to: kept)
        return kept
    }

    /// Capitals are escaped too: to many disks `A` and `a` are one name.
    private static func name(of roomID: String) -> String {
        let plain = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyz0123456789-_")
        // Only a string that is no Unicode has no encoding, and a Swift string is.
        return roomID.addingPercentEncoding(withAllowedCharacters: plain) ?? "_"
    }

    private static func force(_ url: URL) throws {
        let descriptor = open(url.path, O_RDONLY)
        guard descriptor >= 0 else { throw CocoaError(.fileReadUnknown, userInfo: [NSFilePathErrorKey: url.path]) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: url.path])
        }
    }
}
