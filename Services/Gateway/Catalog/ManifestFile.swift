import Glibc
import ParlorContracts
import ParlorJSON
import ParlorServiceKit
import ParlorWorkers

/// A file with the last announced manifests. With it, a gateway that starts while a service is down knows its routes
/// and its fields' default values.
package final class ManifestFile: Sendable {
    private let path: String
    private let log: Logger
    private let unsaved = BlockingQueue<Save>(maxCount: 64, maxBytes: .max)
    private let writer = WorkerThreads()

    private struct Save {
        let manifests: [KnownManifest]
        let completion: (@Sendable (_ isWritten: Bool) -> Void)?
    }

    /// Starts the thread that writes the file.
    ///
    /// - Parameter temporary: the file that is written before it replaces the manifest file; by default one
    ///   of this gateway's own, as others may share the folder.
    package init(_ path: String, temporary: String? = nil, log: Logger) {
        self.path = path
        self.log = log
        let temporary = temporary ?? "\(path).new-\(String(UInt64.random(in: .min ... .max), radix: 36))"
        writer.start(named: "manifests") { [unsaved] in
            while let saves = unsaved.take(atMost: .max), let last = saves.last {
                let isWritten = Self.write(last.manifests, to: path, by: temporary, log)
                for save in saves { save.completion?(isWritten) }
            }
        }
    }

    deinit { unsaved.close() }

    /// Returns the manifests in the file; none if it is missing or invalid.
    ///
    /// - Parameter now: the time of announcement for manifests that have none in the file.
    package func load(at now: Timestamp) -> [KnownManifest] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
        // An invalid file is replaced at the next announcement.
        guard let list = try? JSONValue(parsing: bytes).array else { return [] }
        return list.compactMap { json in
            Manifest(json).map { manifest in
                KnownManifest(
                    manifest: manifest,
                    announcedAt: json.object?[Self.time]?.int.map { Timestamp(milliseconds: $0) } ?? now)
            }
        }
    }

    /// Replaces the whole file, on a separate thread: announcements arrive on an event loop, which must not block. If
    /// several writes wait for a slow disk, only the last one is made. The gateway works without the file, so a failure
    /// is only logged.
    ///
    /// - Parameter completion: called once, when the file has these manifests or later ones, or with false if it could
    ///   not be written.
    package func save(
        _ manifests: [KnownManifest], completion: (@Sendable (_ isWritten: Bool) -> Void)? = nil
    ) {
        do throws(BlockingQueueError) {
            try unsaved.push(Save(manifests: manifests, completion: completion), bytes: 0)
        } catch {
            log.warning("manifest cache not written", ["path": path, "error": "\(error)"])
            completion?(false)
        }
    }

    /// Returns when everything is written.
    package func close() async {
        unsaved.close()
        await writer.ended()
    }

    /// The member with the time of announcement, in milliseconds since 1970, next to the manifest's own
    /// members.
    private static let time = "announcedAt"

    /// - Returns: false, after a line in the log, if it could not be written.
    private static func write(
        _ manifests: [KnownManifest], to path: String, by temporary: String, _ log: Logger
    ) -> Bool {
        let bytes = JSONWriter.bytes { json in
            json.array(of: manifests) { json, known in
                json.object {
                    $0.members(of: known.manifest.json)
                    $0.member(Self.time, known.announcedAt.milliseconds)
                }
            }
        }
        func fail() -> Bool {
            log.warning("manifest cache not written", ["path": path, "error": String(cString: strerror(errno))])
            return false
        }
        guard let file = fopen(temporary, "w") else { return fail() }
        let isWritten = fwrite(bytes, 1, bytes.count, file) == bytes.count
        guard fclose(file) == 0, isWritten, rename(temporary, path) == 0 else {
            // Run `unlink` after `fail`, which reads `errno`: `unlink` may set it.
            defer { unlink(temporary) }
            return fail()
        }
        return true
    }
}

/// A manifest and the time of its last announcement.
package struct KnownManifest {
    package let manifest: Manifest
    package var announcedAt: Timestamp
}
