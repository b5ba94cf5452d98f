import Foundation
import ParlorClient

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

    /// Locks the folder for this process, as long as the result exists. Without the lock, two programs could renew the same
    /// session, whose refresh token works only once. They could also both send the same messages.
    ///
    /// - Throws: `Held` if another process has the lock; the file system's error.
    func hold() throws -> FolderLock {
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        // The client locks the folder itself.
        let held = url.appending(path: "in-use")
        try FileManager.default.createDirectory(at: held, withIntermediateDirectories: true)
        let lock = FolderLock(held)
        guard lock.take() else { throw Held(username: username) }
        return lock
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
