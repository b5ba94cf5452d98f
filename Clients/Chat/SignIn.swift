import Foundation
import RoomsClient

/// Who the program runs for, and how that begins and ends.
struct SignIn {
    /// Somebody who is signed in.
    struct Person {
        let client: RoomsClient
        /// What could not be kept of the session, and why.
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

    /// - Parameter password: somebody's, by their name.
    init(
        _ options: ChatOptions, http: any HTTPTransport, password: @escaping (String) -> String = Self.password
    ) throws {
        self.options = options
        self.http = http
        self.password = password
        accounts = AccountsAPI(transport: http)
        folder = try ServerFolder(options)
    }

    /// Whoever was here last, or who is asked for: with a session that is kept, else with a password.
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

    /// Ends the session here and on the server, and leaves nothing of that person on this machine; others stay.
    ///
    /// - Returns: the exit status.
    @MainActor
    func signOut() async throws -> Int32 {
        guard let (own, session, hold) = try keptSession() else { throw Nobody() }
        defer { withExtendedLifetime(hold) {} }
        let tokens = SessionTokens(session, accounts: accounts) { renewed in
            // The folder goes next.
            try? own.keep(renewed)
        }
        let client = RoomsClient(
            server: options.server, user: session.user, tokens: tokens, http: http, folder: own.url)
        let unsent = try await client.outbox.unsentCount()
        guard unsent == 0 || options.discards else { throw Unsent(username: session.user.username, count: unsent) }
        do {
            // Asked first: the renewed session has another refresh token.
            _ = try await tokens.token()
            if let current = await tokens.session { try await client.api.logOut(refreshToken: current.refreshToken) }
        } catch let failure as ClientFailure where failure != .signedOut {
            ChatCommand.complain("the server was not told: \(failure.text)")
        }
        try own.remove()
        return 0
    }

    private func keptSession() throws -> Own? {
        guard let own = folder.folder(of: options.username) else { return nil }
        let hold = try own.hold()
        // Read again: another may have renewed it, and ended.
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
