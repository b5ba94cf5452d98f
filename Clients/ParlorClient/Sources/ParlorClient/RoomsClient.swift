import Foundation
import Observation

/// The client of one signed-in person: the calls, the socket, the rooms, the conversations and the boards.
///
/// Every update of the socket arrives here, in order. The client passes it to the ``rooms``, the boards and the open
/// conversations, and each event to the readers of ``events(bufferingNewest:)``.
///
/// ``ParlorAccount/client`` is one.
@MainActor
@Observable
public final class RoomsClient {
    /// The state of the connection to the server.
    public var connection: Connection { status.connection }
    /// True if the last connection uses HTTP long-polling: WebSockets do not get through, as behind some proxies, or the
    /// system has none. Events are still live, but slower.
    public var isPolling: Bool { status.isPolling }
    /// The files of unsent messages that this version of the library cannot read. They are set aside, for support or a
    /// newer version, and their messages are not sent.
    public var setAside: [URL] { local.outboxReading.setAside }
    /// The reason why the device cannot read the messages that are not sent yet; nil if it can. While this is set, new
    /// messages are not stored either: they fail with this text, and can be retried.
    public var outboxFailure: String? { local.outboxReading.failure }

    /// The signed-in person.
    public let user: Person
    /// The person's rooms.
    public var rooms: RoomList { local.rooms }
    /// What the person is still writing.
    public var drafts: Drafts { local.drafts }
    /// The HTTP calls, for requests of the app itself. They also work after ``stop()``. After a sign-out, and while
    /// somebody else is signed in, they fail with `signedOut`.
    @ObservationIgnored public let api: RoomsAPI
    /// The socket, for events of the app itself.
    @ObservationIgnored public let socket: RoomsSocket
    @ObservationIgnored package let local: LocalState
    @ObservationIgnored private let relay = EventBroadcast()
    @ObservationIgnored let transport: any SocketTransport
    /// The transport and the tokens of the client's own HTTP requests. It is closed while the client is stopped.
    @ObservationIgnored let access: StoppableAccess
    /// The person's tokens, until the client signs out.
    @ObservationIgnored let tokens: ClientTokens
    @ObservationIgnored let device: DeviceRegistration
    @ObservationIgnored private let status: ConnectionStatus
    @ObservationIgnored let orders: SocketOrders
    @ObservationIgnored let clock: any ClientClock
    var isBehind: Bool { status.isBehind }
    /// True after a sign-out, which is final: this client starts nothing any more.
    @ObservationIgnored var isSignedOut = false

    /// Creates a client. It makes no request before ``start()``.
    ///
    /// - Parameters:
    ///   - server: the server's address, `https://…` or `http://…`.
    ///   - user: the person who is signed in with the tokens.
    ///   - tokens: a ``SessionTokens``, unless a test has others.
    ///   - http: the transport of requests; by default a ``URLSessionTransport``.
    ///   - sockets: the transport of the socket; by default WebSockets, and HTTP long-polling where they do not get
    ///     through. On Linux the default only polls.
    ///   - folder: a folder for unsent messages and board changes, and for cached rooms, messages and boards. Each
    ///     person on each server needs a folder of their own, which only one client uses at a time.
    ///   - paths: reports changes of the device's networks; by default the system does, where it can.
    package init(
        server: URL, user: Person, tokens: any TokenProvider, http: (any HTTPTransport)? = nil,
        sockets: (any SocketTransport)? = nil, clock: any ClientClock = SystemClock(), folder: URL,
        paths: (any NetworkPaths)? = nil, settings: Settings = Settings()
    ) {
        let eventRelay = EventRelay()
        let http = http ?? URLSessionTransport(base: server)
        let tokens = ClientTokens(tokens, of: user.id)
        let access = StoppableAccess(http, tokens)
        transport = sockets ?? FallbackTransport.standard(over: http, clock: clock)
        let socket = RoomsSocket(
            server: server, transport: transport, tokens: tokens, clock: clock,
            deliver: { await eventRelay.client?.take($0.update, cursor: $0.cursor) })
        // These fail with `offline` while the client is stopped.
        let stoppable = RoomsAPI(transport: access, tokens: access)
        device = DeviceRegistration(api: stoppable, clock: clock, log: settings.log)
        self.user = user
        self.clock = clock
        self.access = access
        self.tokens = tokens
        self.socket = socket
        orders = SocketOrders(socket, paths ?? SystemNetworkPaths())
        status = ConnectionStatus(log: settings.log)
        api = RoomsAPI(transport: http, tokens: tokens)
        local = LocalState(
            of: user, in: PersonFolder(folder), from: ServerConnection(api: stoppable, socket: socket), clock: clock,
            settings: settings,
            // If the device is unlocked while there is no network, the next `append` reads the stored messages. This
            // call then clears `outboxFailure`.
            onOutboxRead: { await eventRelay.client?.local.readOutbox() })
        eventRelay.client = self
        rooms.onGone = { [weak local] roomID, reason in Task { await local?.forget(roomID, because: reason) } }
    }

    // MARK: Lifecycle

    /// Shows the cached rooms, connects, and stays connected until ``stop()``. It also sends the messages and board
    /// changes that an earlier run of the app has left unsent.
    ///
    /// Returns without waiting for the connection. Does nothing after a sign-out.
    ///
    /// If the app ended during a sign-out, the person's remaining data is deleted first. If that fails, or if another
    /// client has the person's folder, nothing starts: ``connection`` is `ended` with the code `not_forgotten` or
    /// `in_use`, and the next start tries again.
    ///
    /// ``start()``, ``stop()``, ``enterBackground(within:)``, ``enterForeground()`` and ``ParlorAccount/signOut()``
    /// may be called in any order, also before an earlier call has returned. The last call decides.
    public func start() async {
        if isSignedOut { return }
        await start(orders.begin())
    }

    /// - Returns: false if the folder cannot be used, so that nothing may start.
    @discardableResult
    private func start(_ generation: Int) async -> Bool {
        do {
            try await local.folder.open()
        } catch {
            guard orders.isLatest(generation), !Task.isCancelled else { return false }
            // What another client has may not be sent twice. Old data must not be sent, or have new data beside it.
            access.close()
            status.noteUnusable(error)
            return false
        }
        guard orders.isLatest(generation) else { return true }
        access.open()
        local.folder.protect()
        drafts.restore()
        await local.readOutbox()
        guard orders.isLatest(generation) else { return true }
        rooms.loadFirst()
        orders.watchPaths()
        await local.boards.sendStored(isBehind: { status.isBehind }, while: { orders.isLatest(generation) })
        let position = await local.backing.cache.position()
        local.backing.fresh.resume(from: position)
        guard orders.isLatest(generation) else { return true }
        await orders.run { socket in
            if let position { await socket.resume(from: position.cursor) }
            await socket.start()
        }
        return true
    }

    /// Disconnects, and makes no new requests until the next ``start()``, which catches up.
    ///
    /// Requests of rooms, conversations and boards fail as without a network. Messages that are not sent yet wait.
    /// Requests in progress continue. A board starts to write its last changes; only ``enterBackground(within:)`` waits
    /// for the disk.
    public func stop() async {
        _ = orders.begin()
        // The app may end, so moves that wait for the next position of a drag wait no longer.
        local.boards.releaseMoves()
        drafts.keepAll()
        access.close()
        await orders.run { await $0.stop() }
    }

    /// Stores and sends everything that is pending, and then disconnects. Call it when the app goes to the background,
    /// because it may be ended there.
    ///
    /// It first writes to disk, then sends messages, board changes, read receipts and ends of typing. It also waits for
    /// a token refresh that is in progress. Work that does not finish in time is done when the app comes back or starts
    /// again, also after the end of the app. As after ``stop()``, there are no new requests until the next start.
    ///
    /// - Parameter limit: the time for all of it. Ask the system for background time first, and pass less than it
    ///   grants: iOS grants about 30 seconds. Cancelling the calling task ends the wait early.
    /// - Returns: whether everything is sent, and how much is not.
    @discardableResult
    public func enterBackground(within limit: Duration = .seconds(25)) async -> BackgroundResult {
        let generation = orders.begin()
        let (local, tokens, mayAsk) = (local, tokens, access.isAllowed)
        drafts.keepAll()
        let timeForRefresh = min(Self.timeForRefresh, limit / 4)
        var isOutOfTime = false
        do {
            // When the time is over, this stops waiting. Writes to the disk still continue.
            try await within(limit - timeForRefresh, by: clock, else: "there was no more time") {
                // The disk comes first, because the network may use up all the time.
                await local.keepAll()
                // If the new session is lost, the person may have to sign in again.
                async let refreshed: Void = tokens.settle()
                await local.settle(mayAsk: mayAsk)
                await refreshed
            }
        } catch {
            isOutOfTime = true
        }
        guard orders.isLatest(generation) else { return .overtaken }
        // Nothing may be sent after the return, because the system may suspend the app at any moment.
        access.close()
        if isOutOfTime { try? await within(timeForRefresh, by: clock, else: "") { await tokens.settle() } }
        let result = await backgroundResult(isOutOfTime: isOutOfTime)
        guard orders.isLatest(generation) else { return .overtaken }
        await orders.run { await $0.stop() }
        return result
    }

    /// The end of the time for going to the background, in which only a token refresh that is in progress is awaited.
    private static let timeForRefresh: Duration = .seconds(3)

    /// Starts the client, as ``start()`` does, and connects without a pause. Call it when the app comes to the
    /// foreground, and when the network is available again.
    ///
    /// A connection that has been silent for too long is replaced. A list of rooms that is older than
    /// ``RoomList/freshness`` is fetched again; this returns when that request has ended. Does nothing after
    /// a sign-out.
    public func enterForeground() async {
        if isSignedOut { return }
        let generation = orders.begin()
        guard await start(generation), orders.isLatest(generation) else { return }
        await socket.reconnectNow()
        guard orders.isLatest(generation) else { return }
        await rooms.becomeActive()
    }

    /// Registers this device for the person's push notifications, until they sign out. Returns at once; the request is
    /// made while the client is connected, and repeated until the server answers.
    ///
    /// - Parameter token: the device token from the system.
    package func registerDevice(_ token: Data, environment: PushEnvironment) {
        device.use(token, environment, isConnected: connection == .connected)
    }

    /// Opens a room's conversation for one screen; see ``OpenConversations/open(_:isBehind:isWhole:)``.
    package func openConversation(_ room: Room, isWhole: Bool = true) -> Conversation {
        local.conversations.open(room, isBehind: isBehind, isWhole: isWhole)
    }

    /// Opens the board of an open room for one screen; see ``OpenBoards/open(of:isBehind:)``.
    package func openBoard(of conversation: Conversation) -> Board {
        local.boards.open(of: conversation, isBehind: isBehind)
    }

    // MARK: Events

    /// Returns a stream of all later events, in the server's order. Use it for events that the library does not handle,
    /// such as those of a plugin.
    ///
    /// Each call returns a new stream, which ends with the client. After a reconnect, missed events follow, and some
    /// events may come a second time.
    ///
    /// - Parameter limit: the number of unread events to buffer, at least 1. A slow reader misses the oldest beyond it.
    ///   ``rooms``, conversations and boards still apply them.
    public func events(bufferingNewest limit: Int = 1_000) -> AsyncStream<RoomEvent> {
        relay.stream(bufferingNewest: limit)
    }

    deinit {
        // The next client writes the same files, so this one must stop writing them.
        access.close()
        Task { [socket, local] in
            await local.end()
            await socket.stop()
        }
    }

    /// - Parameter cursor: with `recovered`, the cursor of the connection.
    private func take(_ update: SocketUpdate, cursor: String?) async {
        let caughtUp = local.backing.fresh.take(update, cursor: cursor, isReplayed: isBehind) {
            local.conversations[$0]?.isEntered == true
        }
        status.apply(update, isPolling: transport.isPolling)
        if case .event(let event) = update { relay.send(event) }
        if update == .disconnected(.signedOut) { device.noteSessionEnd() }
        rooms.apply(update)
        local.boards.apply(update)
        local.conversations.apply(update)
        if let caughtUp { await local.keep(caughtUp, of: user) }
        if update == .connected {
            device.register()
            await local.outbox.noteConnection()
            // The stored messages may be readable now: the device may have been locked before.
            await local.readOutbox()
            // Not awaited: the replies come after the missed events. If this handler waited, a full queue of those
            // could keep the socket from reading the replies.
            Task { [receipts = local.backing.receipts] in await receipts.noteConnection() }
        }
    }
}

/// Passes the socket's updates to the client, which does not exist yet when the socket is made.
private final class EventRelay {
    weak var client: RoomsClient?
}
