import Contracts
import Glibc
import JSON
import ServiceKit

/// The manifests as they were last announced, on disk: a gateway that starts while a service is down still knows that
/// service's routes and the zeros of its fields.
struct ManifestFile: Sendable {
    private let path: String
    private let log: Logger

    init(_ path: String, log: Logger) {
        self.path = path
        self.log = log
    }

    func load() -> [Manifest] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
        // A file that is no use is written anew with the next announcement.
        guard let list = try? JSONValue(parsing: bytes).array else { return [] }
        return list.compactMap(Manifest.init)
    }

    /// Replaces the file whole. One that cannot be written is a loss of comfort only.
    func save(_ manifests: [Manifest]) {
        let bytes = JSONWriter.bytes { json in json.array { for manifest in manifests { $0.value(manifest.json) } } }
        let temporary = "\(path).new"
        guard let file = fopen(temporary, "w") else {
            return log.warning("manifests are not kept", ["path": path, "error": String(cString: strerror(errno))])
        }
        let isWritten = fwrite(bytes, 1, bytes.count, file) == bytes.count
        guard fclose(file) == 0, isWritten, rename(temporary, path) == 0 else {
            return log.warning("manifests are not kept", ["path": path, "error": String(cString: strerror(errno))])
        }
    }
}
