import Foundation
import Observation
import ParlorClient

/// Signs people in and out on this device, and makes their client.
@MainActor @Observable
final class Account {
    /// The client of the signed-in person. It is kept when the server ends the session: if the same person signs in
    /// again, the client continues, and sends what was not sent.
    private(set) var client: RoomsClient?
    /// True once the stored session has been read. Until then it is unknown whether anybody has to sign in.
    private(set) var isRestored = false
    /// Why the last sign-out was incomplete, as a sentence; nil if it was complete.
    var signOutFailure: String?
    /// The room of a notification that was tapped, until the room is open.
    var roomToOpen: Room.ID?

    @ObservationIgnored private let server: URL
    @ObservationIgnored private let store: any SessionStore
    @ObservationIgnored private let folder: URL
    @ObservationIgnored private let http: any HTTPTransport
    @ObservationIgnored private let sockets: (any SocketTransport)?
    @ObservationIgnored private let clock: any ClientClock
    @ObservationIgnored private let accounts: AccountsAPI
    @ObservationIgnored private let clearNotifications: @MainActor () async -> Void
    /// The only instance in the app, because each refresh token works only once.
    @ObservationIgnored private var tokens: SessionTokens?
    @ObservationIgnored private var deviceToken: Data?

    /// Creates an account without a client. ``becomeActive()`` restores the stored session.
    ///
    /// - Parameters:
    ///   - folder: the parent folder of each person's folder.
    ///   - http: by default a `URLSessionTransport`. Tests and previews pass a scripted device.
    ///   - sockets: by default the library's own. Tests and previews pass a scripted device.
    ///   - clearNotifications: removes the system's notifications and the icon's badge, which belong to the person who
    ///     leaves.
    init(
        server: URL, store: any SessionStore, folder: URL, http: (any HTTPTransport)? = nil,
        sockets: (any SocketTransport)? = nil, clock: any ClientClock = SystemClock(),
        clearNotifications: @escaping @MainActor () async -> Void = {}
    ) {
        self.server = server
        self.store = store
        self.folder = folder
        self.http = http ?? URLSessionTransport(base: server)
        self.sockets = sockets
        self.clock = clock
        self.clearNotifications = clearNotifications
        accounts = AccountsAPI(transport: self.http)
    }

    /// False if nobody has signed in, or if the server has ended the session.
    var isSignedIn: Bool { client.map { $0.connection != .ended(.signedOut) } ?? false }

    // MARK: The app's life

    /// Restores the session on the first call, and connects.
    func becomeActive() async {
        await restore()
        await client?.enterForeground()
    }

    /// Sends what is unsent, for up to 25 seconds, and then disconnects.
    func enterBackground() async { await client?.enterBackground() }

    private func restore() async {
        forgetSignedOut()
        // `try?`: the keychain cannot be read before the first unlock. The next activation tries again.
        guard tokens == nil, let loaded = try? SessionTokens(keptIn: store, accounts: accounts, clock: clock)
        else { return }
        tokens = loaded
        if let user = await loaded.session?.user {
            client = makeClient(of: user, loaded)
        } else {
            // The server may have ended the session since the last launch. Whoever signs in next may be somebody else.
            await forgetNotifications()
        }
        isRestored = true
    }

    /// Deletes the data of an earlier sign-out that was interrupted or has failed.
    private func forgetSignedOut() {
        guard client == nil else { return }
        // `try?`: the next activation and the next sign-in try again. Until then nobody is shown the data.
        try? RoomsClient.forgetSignedOut(in: folder)
    }

    // MARK: Signing in and out

    /// Signs in with a password.
    ///
    /// - Parameter username: the username or the e-mail address.
    /// - Throws: `ClientFailure`.
    func logIn(username: String, password: String) async throws {
        try await use(try await accounts.logIn(username: username, password: password))
    }

    /// Creates an account on the server, and signs in.
    ///
    /// - Parameter firstName: the name that others see; empty for none.
    /// - Throws: `ClientFailure`.
    func register(username: String, password: String, firstName: String) async throws {
        let firstName = firstName.trimmingCharacters(in: .whitespacesAndNewlines)
        try await use(
            try await accounts.register(
                username: username, password: password, firstName: firstName.isEmpty ? nil : firstName))
    }

    private func use(_ session: Session) async throws {
        guard let tokens else { throw ClientFailure.signedOut }  // not restored yet, so there is no sign-in screen
        let isSomebodyElse = client?.user.id != session.user.id
        if isSomebodyElse {
            // No request of one person may be sent with another person's token.
            await client?.stop()
            if client != nil { await forgetNotifications() }
            client = nil
            forgetSignedOut()
        }
        await tokens.use(session)
        if isSomebodyElse { client = makeClient(of: session.user, tokens) }
        await client?.start()
        await registerDevice()
    }

    /// Signs out, and removes the person's data from this device, including unsent messages. The server ends the
    /// session as soon as it can be reached.
    func signOut() async {
        guard let client else { return }
        do { try await client.signOut() } catch { signOutFailure = error.sentence }
        // A signed-out client cannot be started again, not even for the same person.
        guard self.client === client else { return }
        self.client = nil
        await forgetNotifications()
    }

    private func makeClient(of user: Person, _ tokens: SessionTokens) -> RoomsClient {
        RoomsClient(
            server: server, user: user, tokens: tokens, http: http, sockets: sockets, clock: clock,
            folder: folder.appending(path: user.id, directoryHint: .isDirectory))
    }

    // MARK: Notifications

    /// Keeps the device token, and registers the device. The app calls this at each start.
    func noteDevice(_ token: Data) async {
        deviceToken = token
        await registerDevice()
    }

    /// Removes the notifications and the icon's badge of the person who signs out, and forgets the room to open. The
    /// next person must neither read them nor open their room.
    private func forgetNotifications() async {
        roomToOpen = nil
        await clearNotifications()
    }

    private func registerDevice() async {
        guard isSignedIn, let client, let deviceToken else { return }
        #if DEBUG
            let environment = PushEnvironment.sandbox
        #else
            let environment = PushEnvironment.production
        #endif
        // `try?`: the next start of the app tries again.
        try? await client.registerDevice(deviceToken, environment: environment)
    }
}
