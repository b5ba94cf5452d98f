import Glibc

/// The file `parlor.databases` of a folder, which has the names of its databases, one a line.
///
/// A database of which all files are gone looks like a new one. So a start refuses to create one whose name is here.
/// If the file cannot be read or written, less is noticed, and nothing else fails.
struct DatabaseNames {
    private let file: SQLiteFile

    /// - Parameter database: a database in this folder.
    init(besides database: SQLiteFile) { file = SQLiteFile(path: database.folder + "parlor.databases") }

    /// - Throws: `.corrupt`, which says what to do, if the folder had this database before.
    func requireNew(_ database: SQLiteFile) throws {
        guard names().contains(database.lastComponent) else { return }
        throw StorageError.corrupt(
            """
            \(database.path) is missing, and was here before: \(file.path) names it. Put it and its write-ahead log back, or \
            restore a backup. To start with an empty database, delete its line in \(file.path)
            """)
    }

    /// Adds the name of a database that has been created.
    func add(_ database: SQLiteFile) {
        guard !names().contains(database.lastComponent),
            let descriptor = try? file.open(O_WRONLY | O_CREAT | O_APPEND)
        else { return }
        defer { close(descriptor) }
        // One call, because another process may append, too.
        let line = database.lastComponent + "\n"
        write(descriptor, line, line.utf8.count)
    }

    private func names() -> [String] {
        guard file.exists, let descriptor = try? file.open(O_RDONLY) else { return [] }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: file.size)
        let count = read(descriptor, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
