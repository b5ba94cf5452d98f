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
    private var sessionFile: URL { url.appending(path: "session.json") }

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

    /// Locks the folder for this process. Two programs would renew the same session, whose refresh token works only
    /// once, and would send the same messages.
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

    /// The stored session; nil if there is none, or if its file cannot be read.
    var session: Session? {
        guard let data = try? Data(contentsOf: sessionFile) else { return nil }
        return try? JSONDecoder().decode(Session.self, from: data)
    }

    /// Stores a session, or removes the stored one if `session` is nil.
    func keep(_ session: Session?) throws {
        guard let session else { return try FileManager.default.removeItem(at: sessionFile) }
        try JSONEncoder().encode(session).write(to: sessionFile, options: .atomic)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: sessionFile.path(percentEncoded: false))
    }

    func remove() throws { try FileManager.default.removeItem(at: url) }
}
