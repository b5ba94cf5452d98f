import Glibc

/// The folder with the page's files.
struct WebFolder: Sendable {
    let path: String

    /// Finds the page: installed with the executable, in `../share/parlor/web`, or in the checkout whose
    /// `.build` contains the executable.
    ///
    /// - Returns: nil if there is no page in either.
    static func find(besides executable: String) -> WebFolder? {
        var candidates = [installed(besides: executable)]
        if let build = executable.firstRange(of: "/.build/") {
            candidates.append(executable[..<build.lowerBound] + "/Clients/Web")
        }
        return candidates.first { access($0 + "/index.html", R_OK) == 0 }.map(WebFolder.init)
    }

    /// Returns the path of the folder that is installed with an executable.
    static func installed(besides executable: String) -> String {
        parent(of: parent(of: executable)) + "/share/parlor/web"
    }

    /// The path of the running executable; nil if /proc is not mounted.
    static var executable: String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }

    /// Returns the parent's path without the slash; empty for a path in the root.
    private static func parent(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
    }

    /// The size limit of a file. The page's files are a hundred times smaller.
    private static let maxFileBytes = 4 << 20
    /// The folder of fictitious data for development.
    private static let development = "dev"

    /// Returns the files that a browser may request, by their path in the folder.
    ///
    /// - Returns: nil if one of them cannot be read, as a page needs all its files.
    func files() -> [String: [UInt8]]? { files(in: "") }

    private func files(in folder: String) -> [String: [UInt8]]? {
        guard let directory = opendir("\(path)/\(folder)") else { return nil }
        defer { closedir(directory) }
        var found: [String: [UInt8]] = [:]
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
            }
            guard !name.hasPrefix("."), name != Self.development else { continue }
            let file = folder.isEmpty ? name : "\(folder)/\(name)"
            if WebFile.type(of: name) != nil {
                guard let bytes = contents(of: file) else { return nil }
                found[file] = bytes
            } else if !name.contains(".") {
                guard let files = files(in: file) else { return nil }
                found.merge(files) { first, _ in first }
            }
        }
        return found
    }

    private func contents(of file: String) -> [UInt8]? {
        guard let stream = fopen("\(path)/\(file)", "re") else { return nil }
        defer { fclose(stream) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while bytes.count <= Self.maxFileBytes {
            let count = fread(&buffer, 1, buffer.count, stream)
            guard count > 0 else { return ferror(stream) == 0 ? bytes : nil }
            bytes += buffer[..<count]
        }
        return nil
    }
}
