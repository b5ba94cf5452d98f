import Glibc

/// Functions for the files of a folder, and for copies of them that are synced to disk.
enum FolderFile {
    /// Returns the names of the folder's entries, without those in its subfolders.
    static func names(in folder: String) throws(BackupError) -> [String] {
        guard let directory = opendir(folder) else { throw BackupError(folder, errno) }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Copies a file with its mode. Until it is complete, only its owner can read it.
    ///
    /// - Returns: false, with nothing done, if the path is not a file, or the file was removed meanwhile.
    static func copy(_ path: String, to target: String) throws(BackupError) -> Bool {
        let source = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard source >= 0 else {
            if errno == ENOENT { return false }
            throw BackupError(path, errno)
        }
        defer { close(source) }
        var status = stat()
        guard fstat(source, &status) == 0 else { throw BackupError(path, errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { return false }
        let copy = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard copy >= 0 else { throw BackupError(target, errno) }
        defer { close(copy) }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(source, &buffer, buffer.count)
            guard count >= 0 else { throw BackupError(path, errno) }
            if count == 0 { break }
            let written = write(copy, buffer, count)
            // A short write sets no error. It means that there was no space for the rest.
            guard written == count else { throw BackupError(target, written < 0 ? errno : ENOSPC) }
        }
        guard fchmod(copy, status.st_mode & 0o777) == 0, fsync(copy) == 0 else { throw BackupError(target, errno) }
        return true
    }

    /// Syncs a folder, so that the names in it are on disk.
    static func sync(_ folder: String) throws(BackupError) {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw BackupError(folder, errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw BackupError(folder, errno) }
    }

    /// Removes a folder of files, as far as possible.
    static func remove(_ folder: String) {
        // The caller already reports an error. If files remain, the folder's name shows that they are incomplete.
        for name in (try? names(in: folder)) ?? [] { unlink("\(folder)/\(name)") }
        rmdir(folder)
    }
}
