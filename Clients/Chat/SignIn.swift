import Foundation
import ParlorClient

/// Signs a person in or out.
struct SignIn {
    /// A signed-in person.
    struct Person {
        let client: RoomsClient
        /// The reasons why the session could not be stored, as they occur.
        let failures: AsyncStream<String>
        fileprivate let hold: PersonFolder.Hold
    }

    private typealias Own = (folder: PersonFolder, session: Session, hold: PersonFolder.Hold)

    struct Nobody: Error, CustomStringConvertible {
        var description: String { "nobody is signed in: --user NAME (and --register for a new account)" }
    }

    struct Unsent: Error, CustomStringConvertible {
        let username: String
        /// The number of messages and board changes.
        let count: Int
        var description: String {
            let what = count == 1 ? "1 message or board change" : "\(count) messages and board changes"
            return "\(what) of \(username) not sent yet: start without --sign-out to send, or add --discard to delete"
        }
    }

    private let options: ChatOptions
    private let http: any HTTPTransport
    private let accounts: AccountsAPI
    private let folder: ServerFolder
    private let password: (String) -> String

    /// Prepares the folder for the server's data.
    ///
    /// - Parameter password: returns the password of a username.
    init(
        _ options: ChatOptions, http: any HTTPTransport, password: @escaping (String) -> String = Self.password
    ) throws {
        self.options = options
        self.http = http
        self.password = password
        accounts = AccountsAPI(transport: http)
        folder = try ServerFolder(options)
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
        let tokens = SessionTokens(session, accounts: accounts) { session in
            do { try own.keep(session) } catch {
                failed.yield("the session could not be stored: \(error.localizedDescription)")
            }
        }
        let client = RoomsClient(
            server: options.server, user: session.user, tokens: tokens, http: http, folder: own.url)
        return Person(client: client, failures: failures, hold: hold)
    }

    /// Ends the session on the server, and removes the person's data from this machine. Other people's data stays.
    ///
    /// If the server cannot be reached, or has already ended the session, the data is removed all the same.
    ///
    /// - Returns: the exit status.
    /// - Throws: `Nobody`; `PersonFolder.Held`; `Unsent` if there are unsent messages or board changes, and no
    ///   `--discard`; the file system's error.
    @MainActor
    func signOut() async throws -> Int32 {
        guard let (own, session, hold) = try keptSession() else { throw Nobody() }
        defer { withExtendedLifetime(hold) {} }
        let tokens = SessionTokens(session, accounts: accounts) { renewed in
            // `try?`: the folder is removed below anyway. An ended session stays in it until then, so that a sign-out
            // that is interrupted can be repeated.
            if renewed != nil { try? own.keep(renewed) }
        }
        let client = RoomsClient(
            server: options.server, user: session.user, tokens: tokens, http: http, folder: own.url)
        if !options.discards {
            let unsent = try await client.unsentCount()
            guard unsent == 0 else { throw Unsent(username: session.user.username, count: unsent) }
        }
        do {
            // If the token has expired, this renews the session, which then has another refresh token.
            _ = try await tokens.token()
            if let current = await tokens.session { try await client.api.logOut(refreshToken: current.refreshToken) }
        } catch ClientFailure.signedOut {
            // The server has ended the session already.
        } catch let failure as ClientFailure {
            ChatCommand.complain("the session may still be open on the server: \(failure.text)")
        }
        try own.remove()
        return 0
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
        try own.keep(session)
        return (own, session, hold)
    }

    private static func password(of username: String) -> String {
        ProcessInfo.processInfo.environment["PARLOR_PASSWORD"] ?? Terminal.askForPassword(of: username)
    }
}
