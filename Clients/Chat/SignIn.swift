import Foundation
import ParlorClient

/// Signs a person in and out.
struct SignIn {
    /// A signed-in person.
    struct Person {
        let client: RoomsClient
        /// Failures to store the session, with their reasons.
        let failures: AsyncStream<String>
        fileprivate let hold: PersonFolder.Hold
    }

    private typealias Own = (folder: PersonFolder, session: Session, hold: PersonFolder.Hold)

    struct Nobody: Error, CustomStringConvertible {
        var description: String { "nobody is signed in: --user NAME (and --register for a new account)" }
    }

    struct Unsent: Error, CustomStringConvertible {
        let username: String
        let count: Int
        var description: String {
            let messages = count == 1 ? "1 message" : "\(count) messages"
            return
                "\(messages) of \(username) not sent yet: without --sign-out they are, with --sign-out --discard they are lost"
        }
    }

    private let options: ChatOptions
    private let http: any HTTPTransport
    private let accounts: AccountsAPI
    private let folder: ServerFolder
    private let password: (String) -> String

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
    @MainActor
    func signIn() async throws -> Person {
        let kept = options.registers ? nil : try keptSession()
        let (own, session, hold) = if let kept { kept } else { try await makeSession() }
        try folder.noteLast(session.user)
        let (failures, failed) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(1))
        let tokens = SessionTokens(session, accounts: accounts) { session in
            do { try own.keep(session) } catch {
                failed.yield("the session is not kept: \(error.localizedDescription)")
            }
        }
        let client = RoomsClient(
            server: options.server, user: session.user, tokens: tokens, http: http, folder: own.url)
        return Person(client: client, failures: failures, hold: hold)
    }

    /// Ends the session here and on the server, and removes the person's data from this machine. Other
    /// people's data stays.
    ///
    /// - Returns: the exit status.
    @MainActor
    func signOut() async throws -> Int32 {
        guard let (own, session, hold) = try keptSession() else { throw Nobody() }
        defer { withExtendedLifetime(hold) {} }
        let tokens = SessionTokens(session, accounts: accounts) { renewed in
            // The folder is removed next anyway.
            try? own.keep(renewed)
        }
        let client = RoomsClient(
            server: options.server, user: session.user, tokens: tokens, http: http, folder: own.url)
        let unsent = try await client.outbox.unsentCount()
        guard unsent == 0 || options.discards else { throw Unsent(username: session.user.username, count: unsent) }
        do {
            // The token is renewed first, because a renewed session has another refresh token.
            _ = try await tokens.token()
            if let current = await tokens.session { try await client.api.logOut(refreshToken: current.refreshToken) }
        } catch let failure as ClientFailure where failure != .signedOut {
            ChatCommand.complain("the session may still be open on the server: \(failure.text)")
        }
        try own.remove()
        return 0
    }

    private func keptSession() throws -> Own? {
        guard let own = folder.folder(of: options.username) else { return nil }
        let hold = try own.hold()
        // It is read again under the lock: another process may have renewed it.
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
