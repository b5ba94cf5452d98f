import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// A folder of small files, each stored under a key such as a room's id.
package struct RoomFiles: Sendable {
    let folder: URL
    /// While this mark of a sign-out is set, nothing is read or written.
    let mark: SignOutMark?
    /// While another object has this lock, nothing is read or written.
    private let lock: FolderLock?
    private let log: ClientLog
    /// Deletes a file or a folder. Tests replace it.
    private let removeItem: @Sendable (URL) throws -> Void

    /// - Parameter folder: is created with the first file. It is for one use by one person on one server.
    package init(folder: URL) { self.init(folder: folder, mark: nil, log: .none) }

    init(
        folder: URL, mark: SignOutMark? = nil, lock: FolderLock? = nil, log: ClientLog = .none,
        removeItem: @escaping @Sendable (URL) throws -> Void = Self.removeItem
    ) {
        self.folder = folder
        self.mark = mark
        self.lock = lock
        self.log = log
        self.removeItem = removeItem
    }

    /// Returns the files of a folder within this one.
    func subfolder(_ name: String) -> RoomFiles {
        RoomFiles(
            folder: folder.appending(path: name, directoryHint: .isDirectory), mark: mark, lock: lock,
            log: log, removeItem: removeItem)
    }

    @Sendable
    static func removeItem(at url: URL) throws { try FileManager.default.removeItem(at: url) }

    /// Runs a body, and logs the file system's error.
    ///
    /// - Parameter event: what did not happen, such as `not written`.
    func logging<Result>(_ event: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            log.error(.storage, event, ["folder": folder.lastPathComponent], for: error)
            throw error
        }
    }

    private func check() throws {
        try mark?.check()
        guard lock?.take() ?? true else { throw FolderLock.inUse }
    }

    func url(of key: String) -> URL { folder.appending(path: key.fileName() + ".json") }

    /// Returns the keys of all files. A missing folder counts as empty.
    ///
    /// - Throws: the file system's error; the refusals `not_forgotten` and `in_use`.
    func keys() throws -> [String] {
        try check()
        let names = try logging("not listed") {
            do {
                return try FileManager.default.contentsOfDirectory(atPath: folder.path)
            } catch CocoaError.fileReadNoSuchFile {
                return []
            }
        }
        return names.compactMap { name in
            guard name.hasSuffix(".json") else { return nil }
            return String(name.dropLast(5)).removingPercentEncoding
        }
    }

    /// Reads a file.
    ///
    /// - Returns: nil if there is no such file.
    /// - Throws: the file system's error, if the file cannot be read now, for example before the device is unlocked;
    ///   the refusals `not_forgotten` and `in_use`. A later call may succeed.
    func read(_ key: String) throws -> Data? {
        try check()
        return try logging("not read") {
            do {
                return try Data(contentsOf: url(of: key))
            } catch CocoaError.fileReadNoSuchFile {
                return nil
            }
        }
    }

    /// Replaces the file completely, or not at all.
    ///
    /// - Parameter isForced: true to sync the file before this returns, so that it survives a power cut.
    /// - Throws: the file system's error; the refusals `not_forgotten` and `in_use`.
    func write(_ data: Data, of key: String, isForced: Bool) throws {
        try check()
        try logging("not written") { try replace(url(of: key), with: data, isForced: isForced) }
    }

    private func replace(_ url: URL, with data: Data, isForced: Bool) throws {
        FileSteps.note()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // Not `.atomic`: that waits for the disk each time.
        let draft = url.appendingPathExtension("new")
        try data.write(to: draft)
        if isForced { try Self.force(draft) }
        FileSteps.note()
        guard rename(draft.path, url.path) == 0 else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: url.path])
        }
        // The folder holds the name: without this sync, a power cut may bring the old file back.
        if isForced { try Self.force(folder) }
    }

    func remove(_ key: String) throws {
        let url = url(of: key)
        guard FileManager.default.fileExists(atPath: url.path) else { return }
        FileSteps.note()
        try logging("not removed") { try removeItem(url) }
    }

    func removeAll() throws {
        guard FileManager.default.fileExists(atPath: folder.path) else { return }
        FileSteps.note()
        try logging("not removed") { try removeItem(folder) }
    }

    /// Moves an unreadable file to a place where nothing reads or replaces it.
    func setAside(_ key: String) throws -> URL {
        let url = url(of: key)
        var kept = url.appendingPathExtension("unreadable")
        var number = 1
        while FileManager.default.fileExists(atPath: kept.path) {
            number += 1
            kept = url.appendingPathExtension("unreadable-\(number)")
        }
        try logging("not set aside") { try FileManager.default.moveItem(at: url, to: kept) }
        log.error(.storage, "unreadable, set aside", ["folder": folder.lastPathComponent])
        return kept
    }

    /// Syncs a file, or the names in a folder, so that they survive a power cut.
    static func force(_ url: URL) throws {
        let descriptor = open(url.path, O_RDONLY)
        guard descriptor >= 0 else { throw CocoaError(.fileReadUnknown, userInfo: [NSFilePathErrorKey: url.path]) }
        defer { close(descriptor) }
        #if canImport(Darwin)
            // On Apple's systems, `fsync` alone leaves the data in the drive's cache. A volume that does not support
            // F_FULLFSYNC returns an error. Then only `fsync` is used.
            if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
        #endif
        guard fsync(descriptor) == 0 else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: url.path])
        }
    }
}
