import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// Stores sessions from one launch of the app to the next. A ``ParlorAccount`` uses it, one call at a time. In an app's
/// extension, a ``NotificationLoader`` does.
package protocol SessionStore: Sendable {
    /// Returns the stored sessions, or empty ones if nothing is stored.
    func load() throws -> KeptSessions

    /// Replaces the stored sessions. When this returns, they must survive the end of the process.
    func save(_ sessions: KeptSessions) throws

    /// Runs the body. Meanwhile no other process of the app can run a body on the same store. The body loads the
    /// sessions and saves a change.
    ///
    /// It blocks the calling thread, so the wait for another process needs a limit: two seconds in the library's
    /// stores. By default it only runs the body, which is right for a store that one process uses.
    ///
    /// - Throws: the store's error, if the body could not be run; errors of the body.
    func exclusively<Value>(_ body: () throws -> Value) throws -> Value
}

extension SessionStore {
    package func exclusively<Value>(_ body: () throws -> Value) throws -> Value { try body() }
}

/// The current session, and those that the server still has to end.
package struct KeptSessions: Codable, Equatable, Sendable {
    package var current: Session?
    package var ending: [EndingSession]

    package init(current: Session? = nil, ending: [EndingSession] = []) {
        self.current = current
        self.ending = ending
    }

    /// - Returns: nil for nil, and for data that this version cannot decode.
    init?(decoding data: Data?) {
        // `try?`: only the store of a newer version, or damage, has other data.
        guard let data else { return nil }
        guard let kept = try? JSONDecoder().decode(Self.self, from: data) else {
            ClientLog.system.error(.session, "the stored session cannot be decoded")
            return nil
        }
        self = kept
    }
}

/// A session whose person has signed out, but whose end the server has not confirmed.
package struct EndingSession: Codable, Equatable, Sendable {
    package var session: Session
    /// The device to unregister with the session.
    package var deviceToken: String?

    package init(session: Session, deviceToken: String? = nil) {
        self.session = session
        self.deviceToken = deviceToken
    }
}

/// Stores sessions in a file (``SessionPlace/file(_:)``).
package struct FileSessionStore: SessionStore {
    private let url: URL

    package init(url: URL) { self.url = url }

    /// Returns the stored sessions; none if the file is missing, or if this version cannot decode it. Such a file stays
    /// until ``save(_:)`` sets it aside.
    ///
    /// - Throws: the file system's error, if the file cannot be read now. It may hold a session, so returning none
    ///   would sign the person out.
    package func load() throws -> KeptSessions { KeptSessions(decoding: try data()) ?? KeptSessions() }

    private func data() throws -> Data? {
        do {
            return try Data(contentsOf: url)
        } catch CocoaError.fileReadNoSuchFile {
            return nil
        }
    }

    package func exclusively<Value>(_ body: () throws -> Value) throws -> Value {
        try FileLock(url: url.appendingPathExtension("lock")).withLock(body)
    }

    /// Replaces the stored sessions. A file that this version cannot decode is kept, with `.unreadable` appended to its
    /// name.
    package func save(_ sessions: KeptSessions) throws {
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        if let stored = try data(), KeptSessions(decoding: stored) == nil {
            try write(stored, to: url.appendingPathExtension("unreadable"))
        }
        try write(JSONEncoder().encode(sessions), to: url)
    }

    private func write(_ data: Data, to url: URL) throws {
        // The draft gets its permissions before a token is written. The rename then replaces the old file as a whole.
        let draft = url.appendingPathExtension("new")
        guard
            FileManager.default.createFile(
                atPath: draft.path(percentEncoded: false), contents: nil, attributes: [.posixPermissions: 0o600])
        else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: draft.path]) }
        let file = try FileHandle(forWritingTo: draft)
        defer { try? file.close() }  // the sync below throws if the data is not on disk
        try file.write(contentsOf: data)
        // A refresh token works once, so the attempt id of the next refresh must survive a power cut.
        try RoomFiles.force(draft)
        guard rename(draft.path(percentEncoded: false), url.path(percentEncoded: false)) == 0 else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: url.path])
        }
        try RoomFiles.force(url.deletingLastPathComponent())
    }
}
