import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// A folder of small files, each under its key: a room's id for one.
struct RoomFiles: Sendable {
    let folder: URL

    func url(of key: String) -> URL { folder.appending(path: key.fileName() + ".json") }

    /// Of the files that there are.
    ///
    /// - Throws: what the file system says, but of a folder that is not there: that is empty.
    func keys() throws -> [String] {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        } catch CocoaError.fileReadNoSuchFile {
            return []
        }
        return names.compactMap { name in
            guard name.hasSuffix(".json") else { return nil }
            return String(name.dropLast(5)).removingPercentEncoding
        }
    }

    /// - Returns: nil if there is no such file, and of none that cannot be read now: that may pass.
    func read(_ key: String) throws -> Data? {
        do {
            return try Data(contentsOf: url(of: key))
        } catch CocoaError.fileReadNoSuchFile {
            return nil
        }
    }

    /// Replaces the file whole, or not at all.
    ///
    /// - Parameter isForced: it is on the disk when this returns, and outlives the loss of power too.
    func write(_ data: Data, of key: String, isForced: Bool) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let url = url(of: key)
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

    func remove(_ key: String) throws {
        let url = url(of: key)
        guard FileManager.default.fileExists(atPath: url.path) else { return }
        try FileManager.default.removeItem(at: url)
    }

    func removeAll() throws {
        guard FileManager.default.fileExists(atPath: folder.path) else { return }
        try FileManager.default.removeItem(at: folder)
    }

    /// Puts a file that cannot be read where nothing reads or replaces it.
    func setAside(_ key: String) throws -> URL {
        let url = url(of: key)
        var kept = url.appendingPathExtension("unreadable")
        var number = 1
        while FileManager.default.fileExists(atPath: kept.path) {
            number += 1
            kept = url.appendingPathExtension("unreadable-\(number)")
        }
        try FileManager.default.moveItem(at: url, to: kept)
        return kept
    }

    /// Has a file, or the names in a folder, outlive the loss of power.
    static func force(_ url: URL) throws {
        let descriptor = open(url.path, O_RDONLY)
        guard descriptor >= 0 else { throw CocoaError(.fileReadUnknown, userInfo: [NSFilePathErrorKey: url.path]) }
        defer { close(descriptor) }
        #if canImport(Darwin)
            // There `fsync` leaves it in the drive's own memory. A volume that cannot do better says so.
            if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
        #endif
        guard fsync(descriptor) == 0 else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: url.path])
        }
    }
}
