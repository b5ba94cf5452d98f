import Foundation
import Observation
import RoomsClient

/// Who is signed in on this device, and their client.
@MainActor @Observable
final class Account {
    /// The client of the person who is signed in. A session that the server has ended leaves it here: who signs in again continues
    /// with it, and it sends what was not sent.
    private(set) var client: RoomsClient?
    /// False until the stored session has been read: until then nobody knows whether to ask for a password.
    private(set) var isRestored = false
    /// Why the last sign-out was not complete, as a sentence.
    var signOutFailure: String?
    /// The room of a notification that the person has tapped.
    var roomToOpen: Room.ID?

    @ObservationIgnored private let server: URL
    @ObservationIgnored private let store: any SessionStore
    @ObservationIgnored private let folder: URL
    @ObservationIgnored private let http: any HTTPTransport
    @ObservationIgnored private let sockets: (any SocketTransport)?
    @ObservationIgnored private let clock: any ClientClock
    @ObservationIgnored private let accounts: AccountsAPI
    /// The only one in the app: each refresh token works once.
    @ObservationIgnored private var tokens: SessionTokens?
    @ObservationIgnored private var deviceToken: Data?

    /// - Parameters:
    ///   - folder: for the files of all people; each gets a folder in it.
    ///   - http: by default a `URLSessionTransport`; tests and previews have a server in memory.
    ///   - sockets: by default the library's.
    init(
        server: URL, store: any SessionStore, folder: URL, http: (any HTTPTransport)? = nil,
        sockets: (any SocketTransport)? = nil, clock: any ClientClock = SystemClock()
    ) {
        self.server = server
        self.store = store
        self.folder = folder
        self.http = http ?? URLSessionTransport(base: server)
        self.sockets = sockets
        self.clock = clock
        accounts = AccountsAPI(transport: self.http)
    }

    /// False also once the server has ended the session.
    var isSignedIn: Bool { client.map { $0.connection != .ended(.signedOut) } ?? false }

    // MARK: The app's life

    /// Restores the session at the first time, connects, and catches up.
    func becomeActive() async {
        await restore()
        await client?.enterForeground()
    }

    /// Sends what is not sent, for up to 25 seconds, and disconnects.
    func enterBackground() async { await client?.enterBackground() }

    private func restore() async {
        // Before the first unlock the keychain cannot be read. The next activation tries again.
        guard tokens == nil, let loaded = try? SessionTokens(keptIn: store, accounts: accounts, clock: clock)
        else { return }
        tokens = loaded
        if let user = await loaded.session?.user { client = makeClient(of: user, loaded) }
        isRestored = true
    }

    // MARK: Signing in and out

    /// - Parameter username: or the e-mail address.
    /// - Throws: `ClientFailure`.
    func logIn(username: String, password: String) async throws {
        try await use(try await accounts.logIn(username: username, password: password))
    }

    /// - Parameter firstName: what others see; empty for none.
    /// - Throws: `ClientFailure`.
    func register(username: String, password: String, firstName: String) async throws {
        let firstName = firstName.trimmingCharacters(in: .whitespacesAndNewlines)
        try await use(
            try await accounts.register(
                username: username, password: password, firstName: firstName.isEmpty ? nil : firstName))
    }

    private func use(_ session: Session) async throws {
        guard let tokens else { throw ClientFailure.signedOut }  // nothing offers to sign in before it is restored
        let isSomebodyElse = client?.user.id != session.user.id
        if isSomebodyElse {
            // Nobody's requests may go out with another's tokens.
            await client?.stop()
            client = nil
        }
        await tokens.use(session)
        if isSomebodyElse { client = makeClient(of: session.user, tokens) }
        await client?.start()
        await registerDevice()
    }

    /// Removes all that the device has of the person, unsent messages included. The server ends the session as soon as it can be
    /// reached.
    func signOut() async {
        guard let client else { return }
        do { try await client.signOut() } catch { signOutFailure = error.localizedDescription }
        // It is of no use any more, also to the same person.
        if self.client === client { self.client = nil }
    }

    private func makeClient(of user: Person, _ tokens: SessionTokens) -> RoomsClient {
        RoomsClient(
            server: server, user: user, tokens: tokens, http: http, sockets: sockets, clock: clock,
            folder: folder.appending(path: user.id, directoryHint: .isDirectory))
    }

    // MARK: Notifications

    /// Takes the token that the system gives this device at each start.
    func noteDevice(_ token: Data) async {
        deviceToken = token
        await registerDevice()
    }

    private func registerDevice() async {
        guard isSignedIn, let client, let deviceToken else { return }
        #if DEBUG
            let environment = PushEnvironment.sandbox
        #else
            let environment = PushEnvironment.production
        #endif
        // The system gives the token again at the next start, which tries again.
        try? await client.registerDevice(deviceToken, environment: environment)
    }
}
