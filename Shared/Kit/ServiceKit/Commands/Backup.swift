import Glibc
import ParlorStorage

/// A backup of a data folder.
///
/// It is created under a temporary name beside the target, and renamed when everything is on disk. So the
/// target name has a complete backup or none.
struct Backup {
    let folder: String
    let databases: [String]
    let target: String

    /// - Parameter databases: the databases in the order of copying. Other databases in the folder are copied before
    ///   them. A database may have been moved elsewhere. The folder's old file with its name is then left out.
    init(of folder: String, databases: [String], to target: String) {
        self.folder = folder
        self.databases = databases
        self.target = target.count > 1 && target.hasSuffix("/") ? String(target.dropLast()) : target
    }

    /// - Returns: the number of files in the backup.
    func run() throws -> Int {
        // Find the errors that can be found before anything is created.
        let names = try FolderFile.names(in: folder)
        if let there = try? FolderFile.names(in: target) {  // usually it does not exist
            guard there.isEmpty else { throw BackupError("\(target) is not empty") }
        } else if access(target, F_OK) == 0 {
            throw BackupError("\(target) is no folder")
        }
        let taken = Set(databases.map(Self.name))
        let others = names.filter { $0.hasSuffix(".db") && !taken.contains($0) }.map { "\(folder)/\($0)" }
        let opened = try (others.sorted() + databases).map { (path: $0, file: try DatabaseFile(existing: $0)) }

        let draft = "\(target).unfinished-\(getpid())"
        guard mkdir(draft, 0o700) == 0 else { throw BackupError(draft, errno) }
        do {
            for (path, file) in opened { try copy(file, path, into: draft) }
            let plain = try names.filter(Self.isPlain).filter {
                try FolderFile.copy("\(folder)/\($0)", to: "\(draft)/\($0)")
            }
            try FolderFile.sync(draft)
            guard rename(draft, target) == 0 else { throw BackupError(target, errno) }
            try FolderFile.sync(Self.parent(of: target))
            return opened.count + plain.count
        } catch {
            FolderFile.remove(draft)
            throw error
        }
    }

    private func copy(_ file: DatabaseFile, _ path: String, into draft: String) throws {
        defer { file.close() }
        do {
            try file.copy(to: "\(draft)/\(Self.name(of: path))")
        } catch StorageError.full {
            throw BackupError("\(path) cannot be copied: there is no space left at \(target)")
        } catch StorageError.io(let what), StorageError.corrupt(let what) {
            throw BackupError("\(path) cannot be copied: \(what)")
        }
    }

    /// Returns true if a file is neither part of a database, which has its own copy, nor a lock, nor a file that is
    /// still being written under a temporary name.
    private static func isPlain(_ name: String) -> Bool {
        let isDatabases = [".db", "-wal", "-shm", "-journal", "-acknowledged", ".lock", ".databases"].contains {
            name.hasSuffix($0)
        }
        let isUnfinished = name.hasPrefix(".") || name.hasSuffix(".new") || name.contains(".new-")
        return !isDatabases && !isUnfinished
    }

    private static func name(of path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

    private static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

/// The reason why a backup failed. Its description is the line that the operator sees.
struct BackupError: Error, Equatable, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    init(_ path: String, _ code: Int32) { self.init("\(path): \(String(cString: strerror(code)))") }
}
