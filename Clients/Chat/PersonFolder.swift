import Foundation
import ParlorClient

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// One person's folder, with the session, cached messages, and unsent messages and board changes.
struct PersonFolder: Sendable {
    let url: URL
    private let username: String
    private var store: FileSessionStore { FileSessionStore(url: url.appending(path: "sessions.json")) }
    /// The file in which earlier versions stored the session alone.
    private var earlierFile: URL { url.appending(path: "session.json") }

    struct Held: Error, CustomStringConvertible {
        let username: String
        var description: String {
            "another parlor-chat is using \(username) here: end that one, or choose another account with --user"
        }
    }

    init(url: URL, of username: String) {
        self.url = url
        self.username = username
    }

    /// A lock on the folder, which this process holds for the lifetime of the object.
    final class Hold: Sendable {
        private let descriptor: Int32

        fileprivate init(_ descriptor: Int32) { self.descriptor = descriptor }

        deinit { close(descriptor) }
    }

    /// Locks the folder for this process. Without the lock, two programs could renew the same session, whose refresh
    /// token works only once. They could also both send the same messages.
    ///
    /// - Throws: `Held` if another process has the lock; the file system's error.
    func hold() throws -> Hold {
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let lock = url.appending(path: "lock").path(percentEncoded: false)
        let descriptor = open(lock, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: lock]) }
        let hold = Hold(descriptor)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw Held(username: username) }
        return hold
    }

    /// The current session; nil if there is none, or if its file cannot be read.
    var session: Session? { (try? load())?.current }

    func remove() throws { try FileManager.default.removeItem(at: url) }
}

extension PersonFolder: SessionStore {
    func load() throws -> KeptSessions {
        let kept = try store.load()
        // `try?`: most folders have no such file.
        guard kept == KeptSessions(), let data = try? Data(contentsOf: earlierFile),
            let session = try? JSONDecoder().decode(Session.self, from: data)
        else { return kept }
        return KeptSessions(current: session)
    }

    func save(_ sessions: KeptSessions) throws {
        try store.save(sessions)
        let path = earlierFile.path(percentEncoded: false)
        if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
    }
}
