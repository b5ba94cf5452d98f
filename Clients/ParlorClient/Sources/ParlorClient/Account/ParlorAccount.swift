import Foundation
import Observation

/// The app's account on one server: signs people in and out, and has the client of the person who is signed in.
///
/// An app makes one, and keeps it as long as it runs: the session's refresh token works only once, so two accounts on one
/// store would sign the person out. The app shows ``state``, and says when it comes to the foreground and leaves it:
///
/// ```swift
/// let account = ParlorAccount(server: URL(string: "https://parlor.example")!)
/// await account.enterForeground()
/// try await account.signIn(username: "ada", password: "correct horse")
/// ```
///
/// The session and the person's data stay on the device until ``signOut()``. A session that the server ends leaves the
/// data: if the same person signs in again, ``client`` continues, and sends what was not sent and is not over a day old.
@MainActor @Observable
public final class ParlorAccount {
    /// What the app shows.
    public enum State: Sendable {
        /// The stored session could not be read yet, for example before the device is first unlocked. ``failure`` says
        /// why, and the next ``enterForeground()`` tries again.
        case restoring
        /// Nobody is signed in, or the server has ended the session. In the latter case ``client`` is not nil.
        case signedOut
        case signedIn(RoomsClient)
    }

    /// The client of the person who is signed in, or whose session the server has ended. It is another object for
    /// another person, and after a sign-out.
    public private(set) var client: RoomsClient?
    /// Why the session cannot be read on this device, or could not be stored there at the sign-in, as a sentence; nil
    /// otherwise. Later requests try again to store it, without which it lasts until the app ends.
    public private(set) var failure: String?
    /// The room of an opened notification or link. The app shows the room and sets this to nil. A sign-out and another
    /// person's sign-in do so, too.
    public var roomToOpen: Room.ID?

    @ObservationIgnored private let server: URL
    @ObservationIgnored private let store: any SessionStore
    @ObservationIgnored private let folder: URL
    @ObservationIgnored private let http: any HTTPTransport
    @ObservationIgnored private let sockets: (any SocketTransport)?
    @ObservationIgnored private let clock: any ClientClock
    @ObservationIgnored private let settings: RoomsClient.Settings
    @ObservationIgnored private let accounts: AccountsAPI
    @ObservationIgnored private let clearNotifications: @MainActor () async -> Void
    /// nil until the stored session has been read.
    private var tokens: SessionTokens?
    @ObservationIgnored private var signingOut: Task<Void, any Error>?
    @ObservationIgnored private var device: (token: Data, environment: PushEnvironment)?

    /// Creates an account, and reads the stored session. Makes no request before ``enterForeground()``, except to end
    /// sessions that were signed out without a network.
    ///
    /// - Parameters:
    ///   - server: the server's address, `https://…` or `http://…`.
    ///   - place: where the session stays; by default the keychain on Apple's systems, and a file in `folder` elsewhere.
    ///     An app with an extension passes the place that both share (<doc:Notifications>).
    ///   - folder: the parent of each person's folder, for this server alone; by default one in Application Support. Not
    ///     in an app group's container: a client has its person's folder locked, and systems end a suspended app that has
    ///     a lock there.
    ///   - clearNotifications: removes the app's delivered notifications and the icon's badge. It is called when a person
    ///     leaves, so that the next one does not see them.
    public convenience init(
        server: URL, sessionIn place: SessionPlace? = nil, folder: URL? = nil,
        settings: RoomsClient.Settings = RoomsClient.Settings(),
        clearNotifications: @escaping @MainActor () async -> Void = {}
    ) {
        let folder = folder ?? Self.standardFolder(for: server)
        self.init(
            server: server, store: (place ?? Self.standardPlace(in: folder)).store(server), folder: folder,
            http: URLSessionTransport(base: server), sockets: nil, clock: SystemClock(), settings: settings,
            clearNotifications: clearNotifications)
    }

    /// - Parameter sockets: nil for WebSockets, and HTTP long-polling where they do not get through.
    package init(
        server: URL, store: any SessionStore, folder: URL, http: any HTTPTransport, sockets: (any SocketTransport)?,
        clock: any ClientClock, settings: RoomsClient.Settings = RoomsClient.Settings(),
        clearNotifications: @escaping @MainActor () async -> Void = {}
    ) {
        self.server = server
        self.store = store
        self.folder = folder
        self.http = http
        self.sockets = sockets
        self.clock = clock
        self.settings = settings
        self.clearNotifications = clearNotifications
        accounts = AccountsAPI(transport: http)
        // On an error, `failure` has the reason.
        _ = try? restore()
    }

    private static func standardFolder(for server: URL) -> URL {
        let parents = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
        return (parents.first ?? .homeDirectory).appending(path: "Parlor/\(server.serverFileName)")
    }

    private static func standardPlace(in folder: URL) -> SessionPlace {
        #if canImport(Darwin)
            .keychain()
        #else
            .file(folder.appending(path: "session"))
        #endif
    }

    /// What the app shows. It changes with ``client`` and the client's connection.
    public var state: State {
        guard tokens != nil else { return .restoring }
        guard let client, client.connection != .ended(.signedOut) else { return .signedOut }
        return .signedIn(client)
    }

    /// Reads the stored session, if that was not done yet.
    ///
    /// - Throws: the store's error.
    private func restore() throws -> SessionTokens {
        if let tokens { return tokens }
        do {
            let restored = try SessionTokens(keptIn: store, accounts: accounts, clock: clock, log: settings.log)
            tokens = restored
            deleteSignedOut()
            client = restored.restoredUser.map { makeClient(of: $0, restored) }
            failure = nil
            return restored
        } catch {
            failure = error.localizedDescription
            settings.log.error(.session, "not restored", for: error)
            throw error
        }
    }

    /// Deletes the data of an earlier sign-out that was interrupted or has failed.
    private func deleteSignedOut() {
        guard client == nil else { return }
        do {
            try PersonFolder.forgetSignedOut(in: folder)
        } catch {
            // The next launch and the next sign-in try again. Until then nobody is shown the data.
            settings.log.warning(.storage, "not forgotten", for: error)
        }
    }

    private func makeClient(of user: Person, _ tokens: SessionTokens) -> RoomsClient {
        let client = RoomsClient(
            server: server, user: user, tokens: tokens, http: http, sockets: sockets, clock: clock,
            folder: folder.appending(path: user.id, directoryHint: .isDirectory), settings: settings)
        if let device { client.registerDevice(device.token, environment: device.environment) }
        return client
    }

    // MARK: The app's life

    /// Connects the person who is signed in. Call it when the app becomes active, also after its launch.
    ///
    /// It does what ``RoomsClient/enterForeground()`` does.
    public func enterForeground() async {
        // On an error, `failure` has the reason.
        guard (try? restore()) != nil else { return }
        // The server may have ended the session before the launch. Whoever signs in next may be somebody else.
        guard let client else { return await clearNotifications() }
        await client.enterForeground()
    }

    /// Sends what is unsent, for up to `limit`, and disconnects. Call it when the app goes to the background, in time
    /// that the system has granted.
    ///
    /// - Returns: as ``RoomsClient/enterBackground(within:)``; `settled` without a client.
    @discardableResult
    public func enterBackground(within limit: Duration = .seconds(25)) async -> RoomsClient.BackgroundResult {
        await client?.enterBackground(within: limit) ?? .settled
    }

    // MARK: Signing in and out

    /// Signs in with a password.
    ///
    /// - Parameter username: the username or the e-mail address.
    /// - Throws: `ClientFailure`, such as `refused` with `invalid_credentials`; `CancellationError`; the store's error if
    ///   the stored session cannot be read.
    public func signIn(username: String, password: String) async throws {
        try await signIn(with: try await accounts.logIn(username: username, password: password))
    }

    /// Creates an account on the server, and signs in.
    ///
    /// - Parameter firstName: the name that others see; empty for none.
    /// - Throws: as ``signIn(username:password:)``; the codes are `username_taken` and `email_taken`, for example.
    public func register(
        username: String, password: String, firstName: String = "", email: String? = nil
    ) async throws {
        let firstName = firstName.trimmingCharacters(in: .whitespacesAndNewlines)
        try await signIn(
            with: try await accounts.register(
                username: username, password: password, firstName: firstName.isEmpty ? nil : firstName, email: email))
    }

    /// Signs in with a session that the app has from the server, for example through a sign-in page of its own.
    ///
    /// If somebody else was signed in, their client stops. Their unsent changes stay for their next sign-in.
    ///
    /// - Throws: the store's error if the stored session cannot be read.
    public func signIn(with session: Session) async throws {
        let tokens = try restore()
        // It deletes the folder that the same person's next client uses.
        _ = await signingOut?.result
        let isSomebodyElse = client?.user.id != session.user.id
        if isSomebodyElse {
            // No request of one person may be sent with another person's token.
            await client?.stop()
            // A screen may still have the client, whose folder the same person's next client uses.
            await client?.local.keepAll()
            await client?.local.end()
            if client != nil { await forgetNotifications() }
            client = nil
            deleteSignedOut()
        }
        await tokens.use(session)
        failure = await tokens.storeFailure?.localizedDescription
        if isSomebodyElse { client = makeClient(of: session.user, tokens) }
        await client?.start()
    }

    /// Signs out, and removes the person's data from this device, including unsent changes:
    /// ``RoomsClient/unsentCount()`` says how many. The server ends the session as soon as it can be reached.
    ///
    /// - Throws: the error of the file system or the store. The person is signed out all the same. The next launch, or
    ///   the next sign-in, deletes what is left. If the store has failed, the next launch may be signed in again.
    public func signOut() async throws {
        let task = signingOut ?? Task { try await signOutOnce() }
        signingOut = task
        try await task.value
    }

    private func signOutOnce() async throws {
        defer { signingOut = nil }
        failure = nil
        guard let client else { return }
        let result: Result<Void, any Error>
        do { result = .success(try await client.signOut()) } catch { result = .failure(error) }
        // A signed-out client cannot be started again, not even for the same person.
        if self.client === client { self.client = nil }
        await forgetNotifications()
        try result.get()
    }

    // MARK: Notifications and links

    /// Registers this device for the notifications of whoever is signed in, now and later. Call it with the token that
    /// the system gives at each launch.
    ///
    /// Returns at once. The device is registered when the client connects, and the request is repeated until the server
    /// answers.
    public func registerDevice(_ token: Data, environment: PushEnvironment) {
        device = (token, environment)
        client?.registerDevice(token, environment: environment)
    }

    /// Sets ``roomToOpen`` to the room of a notification that the person has opened. Does nothing while nobody is signed in.
    public func open(_ pushed: PushedMessage) {
        // While nobody is signed in, it is a notification of the person before.
        if client != nil || tokens == nil { roomToOpen = pushed.roomID }
    }

    /// Sets ``roomToOpen`` to the room of a link to the server's web page, such as
    /// `https://parlor.example/#/room/ID`, or of the same link with a scheme of the app's own.
    ///
    /// - Returns: false for another link.
    @discardableResult
    public func open(_ link: URL) -> Bool {
        let isWeb = ["http", "https"].contains(link.scheme?.lowercased())
        guard !isWeb || link.host()?.lowercased() == server.host()?.lowercased(),
            let parts = link.fragment(percentEncoded: false)?.split(separator: "/"), parts.count >= 2,
            parts[0] == "room"
        else { return false }
        roomToOpen = String(parts[1])
        return true
    }

    /// Removes the notifications and the icon's badge of the person who leaves, and forgets the room to open. The next
    /// person must neither read them nor open their room.
    private func forgetNotifications() async {
        roomToOpen = nil
        await clearNotifications()
    }
}
