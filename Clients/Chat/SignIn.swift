import Foundation
import ParlorClient

/// Signs a person in or out.
struct SignIn {
    /// A signed-in person.
    struct Person {
        let client: RoomsClient
        /// The reasons why the session could not be stored, as they occur.
        let failures: AsyncStream<String>
        fileprivate let hold: FolderLock
    }

    private typealias Own = (folder: PersonFolder, session: Session, hold: FolderLock)

    struct Nobody: Error, CustomStringConvertible {
        var description: String {
            "nobody is signed in: start with --user NAME (and with --register for a new account)"
        }
    }

    struct Unsent: Error, CustomStringConvertible {
        let username: String
        /// The number of messages and board changes.
        let count: Int
        var description: String {
            let (what, them) = count == 1 ? ("message or board change", "it") : ("messages and board changes", "them")
            return """
                not sent yet: \(count) \(what) of \(username). Start without --sign-out to send \(them), or add --discard \
                to delete \(them)
                """
        }
    }

    /// Stores a person's sessions, and reports why they could not be stored.
    private struct ReportingStore: SessionStore {
        let folder: PersonFolder
        /// Gets the reason if the session could not be stored; an empty text once it is.
        let report: @Sendable (String) -> Void

        func load() throws -> KeptSessions { try folder.load() }

        func save(_ sessions: KeptSessions) throws {
            do { try folder.save(sessions) } catch {
                report("the session could not be stored: \(error.localizedDescription)")
                throw error
            }
            report("")
        }
    }

    /// The sign-outs that earlier runs could not complete.
    let signOuts: SignOuts
    private let options: ChatOptions
    private let http: any HTTPTransport
    private let sockets: (any SocketTransport)?
    private let clock: any ClientClock
    private let accounts: AccountsAPI
    private let folder: ServerFolder
    private let password: (String) -> String

    /// Prepares the folder for the server's data.
    ///
    /// - Parameter password: returns the password of a username.
    init(
        _ options: ChatOptions, http: any HTTPTransport, sockets: (any SocketTransport)? = nil,
        clock: any ClientClock = SystemClock(), password: @escaping (String) -> String = Self.password
    ) throws {
        self.options = options
        self.http = http
        self.sockets = sockets
        self.clock = clock
        self.password = password
        accounts = AccountsAPI(transport: http)
        folder = try ServerFolder(options)
        signOuts = SignOuts(at: options.server, http: http, in: folder, clock: clock)
    }

    /// Signs in the requested person, or the last one, with a stored session or a password.
    ///
    /// - Throws: `Nobody` if there is neither a stored session nor a username; `PersonFolder.Held`; `ClientFailure`;
    ///   the file system's error.
    @MainActor
    func signIn() async throws -> Person {
        let kept = options.registers ? nil : try keptSession()
        let (own, session, hold) = if let kept { kept } else { try await makeSession() }
        try folder.noteLast(session.user)
        let (failures, failed) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(1))
        let client = try client(keptIn: ReportingStore(folder: own) { failed.yield($0) })
        return Person(client: client, failures: failures, hold: hold)
    }

    /// Removes the person's data from this machine, and ends the session on the server. Other people's data stays.
    ///
    /// If the server cannot be reached, the data is removed all the same, and a later start ends the session.
    ///
    /// - Returns: the exit status.
    /// - Throws: `Nobody`; `PersonFolder.Held`; `Unsent` if there are unsent messages or board changes, and no
    ///   `--discard`; the file system's error.
    @MainActor
    func signOut() async throws -> Int32 {
        let isSignedIn = try await setAside()
        if !(try await signOuts.completeSoon()) {
            ChatCommand.complain("the session is still open on the server: the next start of parlor-chat ends it")
        }
        guard isSignedIn else { throw Nobody() }
        return 0
    }

    /// Signs the person out on this machine. The session and the data are then left to `signOuts`.
    ///
    /// - Returns: false if nobody is signed in.
    @MainActor
    private func setAside() async throws -> Bool {
        guard let (own, session, hold) = try keptSession() else { return false }
        defer { withExtendedLifetime(hold) {} }
        if !options.discards {
            let unsent = try await client(keptIn: own).unsentCount()
            guard unsent == 0 else { throw Unsent(username: session.user.username, count: unsent) }
        }
        try folder.setAside(own)
        return true
    }

    /// - Throws: `Nobody` if the store cannot be read, or has no session.
    @MainActor
    private func client(keptIn store: any SessionStore) throws -> RoomsClient {
        let account = ParlorAccount(
            server: options.server, store: store, folder: folder.url, http: http, sockets: sockets, clock: clock)
        guard let client = account.client else { throw Nobody() }
        return client
    }

    private func keptSession() throws -> Own? {
        guard let own = folder.folder(of: options.username) else { return nil }
        let hold = try own.hold()
        // The session is read again under the lock, because another process may have renewed it.
        return own.session.map { (own, $0, hold) }
    }

    private func makeSession() async throws -> Own {
        guard let username = options.username else { throw Nobody() }
        let password = password(username)
        let session =
            options.registers
            ? try await accounts.register(username: username, password: password)
            : try await accounts.logIn(username: username, password: password)
        let own = folder.folder(of: session.user)
        let hold = try own.hold()
        try own.save(KeptSessions(current: session))
        return (own, session, hold)
    }

    private static func password(of username: String) -> String {
        ProcessInfo.processInfo.environment["PARLOR_PASSWORD"] ?? Terminal.askForPassword(of: username)
    }
}
