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
    public private(set) var connection = Connection.idle
    /// True if the last connection uses HTTP long-polling: WebSockets do not get through, as behind some proxies, or the
    /// system has none. Events are still live, but slower.
    public private(set) var isPolling = false
    /// The files of unsent messages that this version of the library cannot read. They are set aside, for support or a
    /// newer version, and their messages are not sent.
    public var setAside: [URL] { failures.map(\.keptAt) }
    private(set) var failures: [OutboxFailure] = []
    /// The reason why the device cannot read the messages that are not sent yet; nil if it can. While this is set, new
    /// messages are not stored either: they fail with this text, and can be retried.
    public private(set) var outboxFailure: String?

    /// The signed-in person.
    public let user: Person
    /// The person's rooms.
    public let rooms: RoomList
    /// What the person is still writing.
    public let drafts: Drafts
    /// The HTTP calls, for requests of the app itself. They also work after ``stop()``. After a sign-out, and while
    /// somebody else is signed in, they fail with `signedOut`.
    @ObservationIgnored public let api: RoomsAPI
    /// The socket, for events of the app itself.
    @ObservationIgnored public let socket: RoomsSocket
    /// The messages that are not sent yet.
    @ObservationIgnored package let outbox: Outbox
    @ObservationIgnored let backing: MessageBacking
    @ObservationIgnored let boardFiles: BoardFiles
    @ObservationIgnored var boards: [String: Board] = [:]
    @ObservationIgnored private let relay = EventBroadcast()
    @ObservationIgnored let transport: any SocketTransport
    @ObservationIgnored let paths: any NetworkPaths
    @ObservationIgnored var watchingPaths: Task<Void, Never>?
    /// The transport and the tokens of the client's own HTTP requests. It is closed while the client is stopped.
    @ObservationIgnored let access: StoppableAccess
    /// The person's tokens, until the client signs out.
    @ObservationIgnored let tokens: ClientTokens
    /// The HTTP calls of the client itself. They fail with `offline` while the client is stopped.
    @ObservationIgnored let stoppableAPI: RoomsAPI
    @ObservationIgnored let folder: URL
    /// Deletes a file or a folder. Tests replace it.
    @ObservationIgnored package var removeFile: (URL) throws -> Void = { try FileManager.default.removeItem(at: $0) }
    @ObservationIgnored let device: DeviceRegistration
    @ObservationIgnored let roomCache: RoomListCache
    @ObservationIgnored let log: ClientLog
    @ObservationIgnored let conversationSettings: Conversation.Settings
    @ObservationIgnored let clock: any ClientClock
    /// The number of events that were replayed on this connection.
    @ObservationIgnored var replayedCount = 0
    /// True without a connection, and on a new one until all missed events have arrived.
    @ObservationIgnored var isBehind = true
    /// The open conversations by room, including those that are being left.
    @ObservationIgnored var open: [String: Conversation] = [:]
    /// The number of screens that show each open room; 0 while the room is being left.
    @ObservationIgnored var screens: [String: Int] = [:]
    /// Counts the calls that start or stop the client, so that a superseded one can be noticed.
    @ObservationIgnored private var latestGeneration = 0
    /// True after a sign-out, which is final: this client starts nothing any more.
    @ObservationIgnored var isSignedOut = false
    /// True once the stored messages have been read.
    @ObservationIgnored private var isOutboxRead = false
    /// The last start or stop of the socket. The next one waits for it.
    @ObservationIgnored private var lastOrder: Task<Void, Never>?

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
        transport = sockets ?? Self.makeTransport(http, clock)
        self.paths = paths ?? SystemNetworkPaths()
        let socket = RoomsSocket(
            server: server, transport: transport, tokens: tokens, clock: clock,
            deliver: { await eventRelay.client?.take($0.update, cursor: $0.cursor) })
        stoppableAPI = RoomsAPI(transport: access, tokens: access)
        device = DeviceRegistration(api: stoppableAPI, clock: clock, log: settings.log)
        let connection = ServerConnection(api: stoppableAPI, socket: socket)
        let mark = SignOutMark(in: folder)
        let files = { (name: String) in
            RoomFiles(
                folder: folder.appending(path: name, directoryHint: .isDirectory), mark: mark, log: settings.log)
        }
        self.user = user
        self.clock = clock
        self.access = access
        self.tokens = tokens
        self.folder = folder
        self.socket = socket
        api = RoomsAPI(transport: http, tokens: tokens)
        outbox = Outbox(
            folder: folder.appending(path: "outbox", directoryHint: .isDirectory), server: connection, clock: clock,
            settings: settings.outbox, mark: mark, log: settings.log,
            // If the device is unlocked while there is no network, the next `append` reads the stored messages. This
            // call then clears `outboxFailure`.
            onRead: { await eventRelay.client?.startOutbox() },
            onUnknownRoom: { eventRelay.client?.rooms.check($0) },
            onFailedRooms: { eventRelay.client?.rooms.take($0) })
        roomCache = RoomListCache(
            folder: folder.appending(path: "rooms", directoryHint: .isDirectory), clock: clock, mark: mark,
            log: settings.log)
        let rooms = RoomList(for: user.id, from: connection, order: settings.order, clock: clock, cache: roomCache)
        self.rooms = rooms
        backing = MessageBacking(
            server: connection, outbox: outbox,
            cache: MessageCache(
                folder: folder.appending(path: "cache", directoryHint: .isDirectory), clock: clock,
                messageLimit: settings.messageLimit, roomLimit: settings.roomLimit, mark: mark,
                log: settings.log),
            receipts: ReadReceipts(
                server: connection, clock: clock, settings: settings.receipts, files: files("receipts"),
                onChange: { [weak rooms, counts = rooms.counts] change, roomID in
                    counts.note(change, in: roomID)
                    Task { await rooms?.noteCounts(of: roomID) }
                }),
            clock: clock)
        drafts = Drafts(files: files("drafts"), clock: clock)
        boardFiles = BoardFiles(
            folder: folder.appending(path: "boards", directoryHint: .isDirectory), isForced: settings.outbox.isForced,
            mark: mark, log: settings.log)
        conversationSettings = settings.conversation
        log = settings.log
        eventRelay.client = self
        rooms.onGone = { [weak self] roomID in Task { await self?.forget(roomID) } }
    }

    /// Passes the socket's updates to the client, which does not exist yet when the socket is made.
    private final class EventRelay {
        weak var client: RoomsClient?
    }

    // MARK: Lifecycle

    /// Shows the cached rooms, connects, and stays connected until ``stop()``. It also sends the messages and board
    /// changes that an earlier run of the app has left unsent.
    ///
    /// Returns without waiting for the connection. Does nothing after a sign-out.
    ///
    /// If the app ended during a sign-out, the person's remaining data is deleted first. If that fails, nothing starts:
    /// ``connection`` is `ended` with the code `not_forgotten`, and the next start tries again.
    ///
    /// ``start()``, ``stop()``, ``enterBackground(within:)``, ``enterForeground()`` and ``ParlorAccount/signOut()``
    /// may be called in any order, also before an earlier call has returned. The last call decides.
    public func start() async {
        if isSignedOut { return }
        await start(nextGeneration())
    }

    /// - Returns: false if the data of an interrupted sign-out cannot be deleted, so that nothing may start.
    @discardableResult
    private func start(_ generation: Int) async -> Bool {
        if isToBeForgotten {
            do {
                try forgetAll()
            } catch {
                // The old data must not be sent, and no new data may be stored beside it.
                access.close()
                log.error(.storage, "not forgotten", for: error)
                connection = .ended(SignOutMark.notForgotten(error.localizedDescription))
                return false
            }
        }
        access.open()
        protectFolder()
        drafts.restore()
        await startOutbox()
        guard generation == latestGeneration else { return true }
        rooms.loadFirst()
        watchPaths()
        // A board sends the changes that an earlier run has stored, even if no screen shows it.
        for roomID in await boardFiles.roomsWithChanges() where generation == latestGeneration {
            _ = makeBoard(of: roomID)
        }
        let position = await backing.cache.position()
        backing.fresh.resume(from: position)
        guard generation == latestGeneration else { return true }
        await order { socket in
            if let position { await socket.resume(from: position.cursor) }
            await socket.start()
        }
        return true
    }

    private func startOutbox() async {
        do {
            failures += try await outbox.start()
            isOutboxRead = true
            outboxFailure = nil
        } catch {
            // A later call of this function may have succeeded meanwhile.
            if !isOutboxRead { outboxFailure = error.localizedDescription }
        }
    }

    /// Disconnects, and makes no new requests until the next ``start()``, which catches up.
    ///
    /// Requests of rooms, conversations and boards fail as without a network. Messages that are not sent yet wait.
    /// Requests in progress continue. A board starts to write its last changes; only ``enterBackground(within:)`` waits
    /// for the disk.
    public func stop() async {
        _ = nextGeneration()
        // The app may end, so moves that wait for the next position of a drag wait no longer.
        for board in boards.values { board.sender.releaseMoves() }
        drafts.keepAll()
        access.close()
        await order { await $0.stop() }
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
        let generation = nextGeneration()
        let boards = Array(boards.values)
        let (conversations, rooms) = (Array(open.values), rooms)
        let (receipts, tokens, outbox) = (backing.receipts, tokens, outbox)
        drafts.keepAll()
        let mayAsk = access.isAllowed
        let timeForRefresh = min(Self.timeForRefresh, limit / 4)
        var isOutOfTime = false
        do {
            // When the time is over, this stops waiting. Writes to the disk still continue.
            try await within(limit - timeForRefresh, by: clock, else: "there was no more time") {
                // The disk comes first, because the network may use up all the time.
                for conversation in conversations { await conversation.keepAll() }
                for board in boards { await board.keepAll() }
                await rooms.keepAll()
                await receipts.keepAll()
                await withTaskGroup { group in
                    for conversation in conversations { group.addTask { await conversation.typing.settle() } }
                    // This includes the receipts of rooms that were just closed.
                    group.addTask { await receipts.flush() }
                    // If the new session is lost, the person may have to sign in again.
                    group.addTask { await tokens.settle() }
                    guard mayAsk else { return }
                    group.addTask { await outbox.settle() }
                    for board in boards { group.addTask { await board.sender.settle() } }
                }
            }
        } catch {
            isOutOfTime = true
        }
        guard generation == latestGeneration else { return .overtaken }
        // Nothing may be sent after the return, because the system may suspend the app at any moment.
        access.close()
        if isOutOfTime { try? await within(timeForRefresh, by: clock, else: "") { await tokens.settle() } }
        let result = await backgroundResult(isOutOfTime: isOutOfTime)
        guard generation == latestGeneration else { return .overtaken }
        await order { await $0.stop() }
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
        let generation = nextGeneration()
        guard await start(generation), generation == latestGeneration else { return }
        await socket.reconnectNow()
        guard generation == latestGeneration else { return }
        await rooms.becomeActive()
    }

    // MARK: Notifications

    /// Registers this device for the person's push notifications, until they sign out. Returns at once; the request is
    /// made while the client is connected, and repeated until the server answers.
    ///
    /// - Parameter token: the device token from the system.
    package func registerDevice(_ token: Data, environment: PushEnvironment) {
        let text = token.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
        device.use(text, environment, isConnected: connection == .connected)
    }

    func nextGeneration() -> Int {
        latestGeneration += 1
        return latestGeneration
    }

    /// Runs starts and stops of the socket one after the other, in the order of the calls. Without this, a task with a
    /// higher priority could reach the actor first.
    func order(_ body: @escaping @Sendable (RoomsSocket) async -> Void) async {
        let task = Task { [socket, before = lastOrder] in
            await before?.value
            await body(socket)
        }
        lastOrder = task
        await task.value
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
        // Messages and board changes that are not sent yet stay on disk for the next client. It writes the same files,
        // so this client must stop writing them.
        watchingPaths?.cancel()
        access.close()
        Task { [socket, outbox, boards, drafts, receipts = backing.receipts] in
            await drafts.end()
            await outbox.stop()
            for board in boards.values { await board.end() }
            await receipts.removeAll()
            await socket.stop()
        }
    }

    /// - Parameter cursor: with `recovered`, the cursor of the connection.
    private func take(_ update: SocketUpdate, cursor: String?) async {
        let caughtUp = noteForCache(update, cursor: cursor)
        log(update)
        switch update {
        case .connecting: connection = .connecting
        case .connected:
            connection = .connected
            isPolling = transport.isPolling
        case .disconnected(let failure):
            isBehind = true
            connection = Connection(endedBy: failure)
            if failure == .signedOut { device.noteSessionEnd() }
        case .recovered: isBehind = false
        case .refusedRoom, .joined: break
        case .event(let event): relay.send(event)
        }
        rooms.apply(update)
        for board in boards.values { board.apply(update) }
        for conversation in open.values { conversation.apply(update) }
        if let caughtUp {
            // After a launch, the replay may end before the list shows its cached rooms.
            await rooms.showKept()
            await backing.cache.keep(caughtUp, stores: emptyStores(for: caughtUp))
        }
        if update == .connected {
            device.register()
            await outbox.noteConnection()
            // The stored messages may be readable now: the device may have been locked before.
            await startOutbox()
            // Not awaited: the replies come after the missed events. If this handler waited, a full queue of those
            // could keep the socket from reading the replies.
            Task { [receipts = backing.receipts] in await receipts.noteConnection() }
        }
    }
}
