import Glibc

/// A file that is read as a whole.
enum SmallFile {
    /// Returns the contents of a file; nil if it cannot be read, or is longer than `limit`.
    static func contents(of path: String, upTo limit: Int) -> [UInt8]? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: limit + 1)
        let count = fread(&bytes, 1, bytes.count, file)
        guard ferror(file) == 0, count <= limit else { return nil }
        return Array(bytes[..<count])
    }
}
