import Foundation

/// Where sessions are kept from one start of the app to the next: a keychain on Apple's systems, a file elsewhere.
///
/// ``SessionTokens`` alone uses it, and waits for each call: what was saved has to outlive the process from then on.
public protocol SessionStore: Sendable {
    func load() throws -> KeptSessions
    func save(_ sessions: KeptSessions) throws
}

/// The session in use, and those that the server has yet to end.
public struct KeptSessions: Codable, Equatable, Sendable {
    public var current: Session?
    public var ending: [EndingSession]

    public init(current: Session? = nil, ending: [EndingSession] = []) {
        self.current = current
        self.ending = ending
    }
}

/// A session that its person has signed out of, while the server does not know it.
public struct EndingSession: Codable, Equatable, Sendable {
    public var session: Session
    /// Of the device that gets no more pushes.
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

    /// A file that is not there, or that this version cannot read, has none.
    public func load() throws -> KeptSessions {
        guard let data = try? Data(contentsOf: url) else { return KeptSessions() }
        return (try? JSONDecoder().decode(KeptSessions.self, from: data)) ?? KeptSessions()
    }

    public func save(_ sessions: KeptSessions) throws {
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try JSONEncoder().encode(sessions).write(to: url, options: .atomic)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: url.path(percentEncoded: false))
    }
}

/// The store of an app that keeps the session in use itself. What is to be ended is known until the process ends.
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
