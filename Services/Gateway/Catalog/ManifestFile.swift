import Contracts
import Glibc
import JSON
import ServiceKit
import Workers

/// The manifests as they were last announced, on disk: a gateway that starts while a service is down still knows that
/// service's routes and the zeros of its fields.
package final class ManifestFile: Sendable {
    private let path: String
    private let log: Logger
    private let unsaved = BlockingQueue<[KnownManifest]>(maxCount: 64, maxBytes: .max)
    private let writer = WorkerThreads()

    /// - Parameter temporary: what is written before it takes the file's place; by default a file of this gateway's own, as
    ///   others may share the folder.
    package init(_ path: String, temporary: String? = nil, log: Logger) {
        self.path = path
        self.log = log
        let temporary = temporary ?? "\(path).new-\(String(UInt64.random(in: .min ... .max), radix: 36))"
        writer.start(named: "manifests") { [unsaved] in
            while let last = unsaved.take(atMost: .max)?.last { Self.write(last, to: path, by: temporary, log) }
        }
    }

    deinit { unsaved.close() }

    /// - Parameter now: when what says nothing of a time counts as announced.
    package func load(at now: Timestamp) -> [KnownManifest] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
        // A file that is no use is written anew with the next announcement.
        guard let list = try? JSONValue(parsing: bytes).array else { return [] }
        return list.compactMap { json in
            Manifest(json).map { manifest in
                KnownManifest(
                    manifest: manifest,
                    announcedAt: json.object?[Self.time]?.int.map { Timestamp(milliseconds: $0) } ?? now)
            }
        }
    }

    /// Replaces the file whole, on a thread of its own: it is announcements on an event loop that call for it. Of several
    /// that wait for a slow disk the last one is written. A file that cannot be written is a loss of comfort only.
    package func save(_ manifests: [KnownManifest]) {
        do throws(BlockingQueueError) {
            try unsaved.push(manifests, bytes: 0)
        } catch {
            log.warning("manifest cache not written", ["path": path, "error": "\(error)"])
        }
    }

    /// Returns when all is written.
    package func close() async {
        unsaved.close()
        await writer.ended()
    }

    /// Beside the manifest's own members, in milliseconds since 1970.
    private static let time = "announcedAt"

    private static func write(_ manifests: [KnownManifest], to path: String, by temporary: String, _ log: Logger) {
        let bytes = JSONWriter.bytes { json in
            json.array(of: manifests) { json, known in
                json.object {
                    $0.members(of: known.manifest.json)
                    $0.member(Self.time, known.announcedAt.milliseconds)
                }
            }
        }
        guard let file = fopen(temporary, "w") else {
            return log.warning("manifest cache not written", ["path": path, "error": String(cString: strerror(errno))])
        }
        let isWritten = fwrite(bytes, 1, bytes.count, file) == bytes.count
        guard fclose(file) == 0, isWritten, rename(temporary, path) == 0 else {
            unlink(temporary)
            return log.warning("manifest cache not written", ["path": path, "error": String(cString: strerror(errno))])
        }
    }
}

/// A manifest, and when it was last announced.
package struct KnownManifest {
    package let manifest: Manifest
    package var announcedAt: Timestamp
}
