import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// Stores sessions from one start of the app to the next: a keychain on Apple's systems, a file elsewhere.
///
/// ``SessionTokens`` alone uses it, and waits for each call. What `save` was given has to outlive the process when it returns.
public protocol SessionStore: Sendable {
    func load() throws -> KeptSessions
    func save(_ sessions: KeptSessions) throws
}

/// The session in use, and those that the server still has to end.
public struct KeptSessions: Codable, Equatable, Sendable {
    public var current: Session?
    public var ending: [EndingSession]

    public init(current: Session? = nil, ending: [EndingSession] = []) {
        self.current = current
        self.ending = ending
    }
}

/// A session that its person has signed out of, and that the server does not know to be over.
public struct EndingSession: Codable, Equatable, Sendable {
    public var session: Session
    /// The device whose registration ends with it.
    public var deviceToken: String?

    public init(session: Session, deviceToken: String? = nil) {
        self.session = session
        self.deviceToken = deviceToken
    }
}

/// Keeps sessions in a file that its owner alone can read. On Apple's systems use ``KeychainSessionStore``.
public struct FileSessionStore: SessionStore {
    private let url: URL

    public init(url: URL) { self.url = url }

    /// A file that is not there has no session, nor has one with contents that this version does not know.
    ///
    /// - Throws: the error of a file that cannot be read now. It may have a session, so nobody is signed out by it.
    public func load() throws -> KeptSessions {
        let data: Data
        do {
            data = try Data(contentsOf: url)
        } catch CocoaError.fileReadNoSuchFile {
            return KeptSessions()
        }
        return (try? JSONDecoder().decode(KeptSessions.self, from: data)) ?? KeptSessions()
    }

    public func save(_ sessions: KeptSessions) throws {
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        let data = try JSONEncoder().encode(sessions)
        // The owner's alone before there is a token in it; and whole, or not at all.
        let draft = url.appendingPathExtension("new")
        guard
            FileManager.default.createFile(
                atPath: draft.path(percentEncoded: false), contents: nil, attributes: [.posixPermissions: 0o600])
        else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: draft.path]) }
        let file = try FileHandle(forWritingTo: draft)
        defer { try? file.close() }  // what was written is on the disk by then, or this throws
        try file.write(contentsOf: data)
        // A refresh token works once: the name of the next refresh has to outlive a power cut, too.
        try RoomFiles.force(draft)
        guard rename(draft.path(percentEncoded: false), url.path(percentEncoded: false)) == 0 else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: url.path])
        }
        try RoomFiles.force(url.deletingLastPathComponent())
    }
}

/// The store of an app that keeps the session in use itself. Sessions to be ended are forgotten with the process.
struct ClosureSessionStore: SessionStore {
    let session: Session?
    let onChange: @Sendable (Session?) -> Void
    private let saved: Guarded<Session?>

    init(_ session: Session?, onChange: @escaping @Sendable (Session?) -> Void) {
        self.session = session
        self.onChange = onChange
        saved = Guarded(session)
    }

    func load() -> KeptSessions { KeptSessions(current: session) }

    func save(_ sessions: KeptSessions) {
        let hasChanged = saved.withLock { saved in
            defer { saved = sessions.current }
            return saved != sessions.current
        }
        if hasChanged { onChange(sessions.current) }
    }
}
