import Glibc

/// The file of a database, which only its owner can read and whose name is durable.
struct SQLiteFile {
    let path: String

    /// The file's name without its folder and its extension.
    var name: String { String(lastComponent.prefix { $0 != "." }) }

    /// The file's name without its folder.
    var lastComponent: String { String(path.split(separator: "/").last ?? "") }

    /// The path of its folder, with a slash at the end, or nothing for the current one.
    var folder: String { path.lastIndex(of: "/").map { String(path[...$0]) } ?? "" }

    /// The mode of the file, which contains password hashes. SQLite gives its log the same mode.
    private static let mode: mode_t = 0o600

    func create() throws(StorageError) { close(try open(O_RDWR | O_CREAT)) }

    /// - Throws: `StorageError.io` if the file exists already.
    func createNew() throws(StorageError) { close(try open(O_RDWR | O_CREAT | O_EXCL)) }

    /// Opens the file itself, and no connection. The caller closes the descriptor.
    func open(_ flags: Int32) throws(StorageError) -> Int32 {
        let descriptor = Glibc.open(path, flags | O_CLOEXEC, Self.mode)
        guard descriptor >= 0 else { throw failure(path) }
        return descriptor
    }

    var exists: Bool { access(path, F_OK) == 0 }

    /// The size in bytes; 0 if there is no such file.
    var size: Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    func requireExistence() throws(StorageError) {
        guard exists else { throw failure(path) }
    }

    /// Identifies the file that has the name now; nil if there is none.
    var identity: Identity? {
        var status = stat()
        return stat(path, &status) == 0 ? Identity(device: status.st_dev, inode: status.st_ino) : nil
    }

    struct Identity: Equatable {
        let device: dev_t
        let inode: ino_t
    }

    /// Syncs the file to disk. No connection may be open: closing the file here would release the locks that
    /// SQLite holds on it.
    func sync() throws(StorageError) {
        let descriptor = try open(O_RDWR)
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure(path) }
    }

    /// Syncs the directory, as a new file's name is durable only then. SQLite does so for its logs, but not
    /// for the file itself.
    func syncDirectory() throws(StorageError) {
        let directory = folder.isEmpty ? "." : folder
        let descriptor = Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(directory) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure(directory) }
    }

    /// Creates a file for a temporary database. The caller removes its name.
    static func temporary() throws(StorageError) -> SQLiteFile {
        let directory = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(directory)/parlor-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw SQLiteFile(path: directory).failure(directory) }
        close(descriptor)
        return SQLiteFile(path: String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self))
    }

    /// Removes the names. Processes that have the files open can still use them.
    func unlink() {
        for suffix in ["", "-wal", "-shm"] { Glibc.unlink(path + suffix) }
    }

    private func failure(_ what: String) -> StorageError { .io("\(what): \(String(cString: strerror(errno)))") }
}
