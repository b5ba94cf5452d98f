import Foundation
import Observation

/// All of it for one person, put together: the calls, the socket, the rooms, the conversations, and the one door through which
/// everything that happens comes in, in order.
///
/// ```swift
/// let client = RoomsClient(server: address, user: session.user, tokens: tokens, folder: folder)
/// await client.start()
/// ```
@MainActor
@Observable
public final class RoomsClient {
    public private(set) var connection = Connection.idle
    /// WebSockets do not get through, as behind some proxies, and the connection goes by HTTP long-polling: slower, but live.
    public private(set) var isPolling = false
    /// Unsent messages that could not be read from the disk, and were put aside.
    public private(set) var failures: [OutboxFailure] = []
    /// The reason why unsent messages cannot be stored on this device. Each message has it too, and
    /// can be sent again.
    public private(set) var outboxFailure: String?

    public let user: Person
    public let rooms: RoomList
    /// For what the app asks itself; it goes on after ``stop()``.
    @ObservationIgnored public let api: RoomsAPI
    @ObservationIgnored public let socket: RoomsSocket
    @ObservationIgnored public let outbox: Outbox
    @ObservationIgnored let backing: Conversation.Backing
    @ObservationIgnored let boardFiles: BoardFiles
    @ObservationIgnored var boards: [String: Board] = [:]
    @ObservationIgnored private let relay = EventBroadcast()
    /// nil if the sockets are an app's own that never poll.
    @ObservationIgnored private let fallback: FallbackTransport?
    @ObservationIgnored private let paths: any NetworkPaths
    @ObservationIgnored private var watchingPaths: Task<Void, Never>?
    /// Of all that is asked from here.
    @ObservationIgnored private let access: StoppableAccess
    @ObservationIgnored private let tokens: any TokenProvider
    /// Asks nothing after ``stop()``.
    @ObservationIgnored let stoppableAPI: RoomsAPI
    @ObservationIgnored let folder: URL
    /// For tests: deletes a file or a folder.
    @ObservationIgnored package var removeFile: (URL) throws -> Void = { try FileManager.default.removeItem(at: $0) }
    /// As the app registered it.
    @ObservationIgnored private var deviceToken: String?
    @ObservationIgnored private let roomCache: RoomListCache
    @ObservationIgnored let conversationSettings: Conversation.Settings
    @ObservationIgnored let clock: any ClientClock
    /// Until this connection has told what was missed.
    @ObservationIgnored var isAway = true
    @ObservationIgnored var open: [String: Conversation] = [:]
    /// How many screens show each open room; none while it is being left.
    @ObservationIgnored var screens: [String: Int] = [:]
    /// Rises with each word of the app on whether it wants a connection: what an earlier one still waited for is wanted no more.
    @ObservationIgnored private var latestGeneration = 0
    /// For good: nothing begins any more.
    @ObservationIgnored private(set) var isSignedOut = false
    @ObservationIgnored private var lastOrder: Task<Void, Never>?

    /// - Parameters:
    ///   - server: its address, `https://…` or `http://…`.
    ///   - user: who is signed in, by these tokens.
    ///   - tokens: `SessionTokens`, unless the app signs in elsewhere.
    ///   - http: by default a `URLSessionTransport`.
    ///   - sockets: by default WebSockets, and HTTP long-polling where they do not get through.
    ///   - paths: which networks there are; by default the system's word, where it has one.
    ///   - folder: where unsent messages, and rooms and messages for the next start, are kept; one for each person on each server.
    public init(
        server: URL, user: Person, tokens: any TokenProvider, http: (any HTTPTransport)? = nil,
        sockets: (any SocketTransport)? = nil, clock: any ClientClock = SystemClock(), folder: URL,
        paths: (any NetworkPaths)? = nil, settings: Settings = Settings()
    ) {
        let eventRelay = EventRelay()
        let http = http ?? URLSessionTransport(base: server)
        let access = StoppableAccess(http, tokens)
        fallback =
            sockets == nil
            ? FallbackTransport(polling: PollingTransport(http: http), clock: clock) : sockets as? FallbackTransport
        let sockets: any SocketTransport = sockets ?? fallback ?? WebSocketTransport()
        self.paths = paths ?? SystemNetworkPaths()
        let socket = RoomsSocket(server: server, transport: sockets, tokens: tokens, clock: clock) {
            await eventRelay.client?.take($0)
        }
        stoppableAPI = RoomsAPI(transport: access, tokens: access)
        let connection = ServerConnection(api: stoppableAPI, socket: socket)
        let mark = SignOutMark(in: folder)
        self.user = user
        self.clock = clock
        self.access = access
        self.tokens = tokens
        self.folder = folder
        self.socket = socket
        api = RoomsAPI(transport: http, tokens: tokens)
        outbox = Outbox(
            folder: folder.appending(path: "outbox", directoryHint: .isDirectory), server: connection, clock: clock,
            settings: settings.outbox, mark: mark)
        backing = Conversation.Backing(
            server: connection, outbox: outbox,
            cache: MessageCache(
                folder: folder.appending(path: "cache", directoryHint: .isDirectory), clock: clock,
                messageLimit: settings.messageLimit, roomLimit: settings.roomLimit, mark: mark),
            receipts: ReadReceipts(server: connection, clock: clock, settings: settings.receipts), clock: clock)
        boardFiles = BoardFiles(
            folder: folder.appending(path: "boards", directoryHint: .isDirectory), isForced: settings.outbox.isForced,
            mark: mark)
        roomCache = RoomListCache(
            folder: folder.appending(path: "rooms", directoryHint: .isDirectory), clock: clock, mark: mark)
        rooms = RoomList(for: user.id, from: connection, order: settings.order, clock: clock, cache: roomCache)
        conversationSettings = settings.conversation
        eventRelay.client = self
        rooms.onGone = { [weak self] roomID in Task { await self?.forget(roomID) } }
    }

    /// Receives the socket's updates before there is a client.
    private final class EventRelay {
        weak var client: RoomsClient?
    }

    // MARK: The app's life

    /// Shows the rooms, connects, and stays connected until `stop`. What was not sent when the app ended is sent now.
    ///
    /// If the app ended in the middle of a sign-out, what is left of it is deleted first. If that fails, nothing starts, and
    /// ``connection`` has ended with the code `not_forgotten`; the next start tries again.
    ///
    /// This and what follows may be called in any order, before the one before has returned: the last one says what is wanted.
    public func start() async {
        if isSignedOut { return }
        await start(nextGeneration())
    }

    /// - Returns: false if it could not begin.
    @discardableResult
    private func start(_ generation: Int) async -> Bool {
        // Signed out of before, and ended in the middle of it.
        if isToBeForgotten {
            do {
                try forgetAll()
            } catch {
                // Nothing is sent of what its person has signed out of, nor kept beside what is still to be deleted.
                access.close()
                connection = .ended(SignOutMark.notForgotten(error.localizedDescription))
                return false
            }
        }
        access.open()
        await startOutbox()
        guard generation == latestGeneration else { return true }
        rooms.loadFirst()
        watchPaths()
        // Boards that have changes from another time: they are sent without being shown.
        for roomID in await boardFiles.roomsWithChanges() where generation == latestGeneration {
            _ = makeBoard(of: roomID)
        }
        guard generation == latestGeneration else { return true }
        await order { await $0.start() }
        return true
    }

    private func startOutbox() async {
        do {
            failures += try await outbox.start()
            outboxFailure = nil
        } catch {
            outboxFailure = error.localizedDescription
        }
    }

    /// Disconnects, and asks the server for nothing more: what rooms and conversations want of it fails as without a network, and
    /// what is not sent waits. A later `start` catches up.
    public func stop() async {
        _ = nextGeneration()
        access.close()
        await order { await $0.stop() }
    }

    /// To be called when the app goes to the background, and may not come back: sends what is not sent, keeps and sends what waits
    /// for it, and disconnects.
    ///
    /// An app asks its system for time before, and gives the rest of it here; iOS has about thirty seconds. What could not be done is
    /// done when the app comes back, or starts again.
    @discardableResult
    public func enterBackground(within limit: Duration = .seconds(25)) async -> BackgroundResult {
        let generation = nextGeneration()
        let boards = Array(boards.values)
        let (conversations, receipts, tokens, outbox) = (Array(open.values), backing.receipts, tokens, outbox)
        let mayAsk = access.isAllowed
        var isOutOfTime = false
        do {
            // What is cut short goes on when the app comes back; what is left to write is written beside the rest.
            try await within(limit, by: clock, else: "there was no more time") {
                // What belongs on the disk first: the network may take all the time that there is.
                for conversation in conversations { await conversation.keepAll() }
                for board in boards { await board.keepAll() }
                await withTaskGroup { group in
                    for conversation in conversations { group.addTask { await conversation.typing.settle() } }
                    // Of rooms that were closed just before, too.
                    group.addTask { await receipts.flush() }
                    // The answer to a refresh is the session.
                    group.addTask { await tokens.settle() }
                    guard mayAsk else { return }
                    group.addTask { await outbox.settle() }
                    for board in boards { group.addTask { await board.settle() } }
                }
            }
        } catch {
            isOutOfTime = true
        }
        let result = await backgroundResult(of: boards, isOutOfTime: isOutOfTime)
        guard generation == latestGeneration else { return .overtaken }
        await order { await $0.stop() }
        return result
    }

    /// To be called when the app comes to the foreground, and when the network is back.
    public func enterForeground() async {
        if isSignedOut { return }
        let generation = nextGeneration()
        guard await start(generation), generation == latestGeneration else { return }
        await socket.reconnectNow()
        guard generation == latestGeneration else { return }
        await rooms.becomeActive()
    }

    /// Ends everything here, and leaves nothing of this person on the device, unsent messages included. The server ends the session,
    /// and with it the pushes to this device.
    ///
    /// The server is not waited for: the tokens ask it to as soon as it can be reached, with a ``SessionStore`` also after a restart
    /// (``SessionTokens/settleEnding()`` waits). What was read and is not sent yet is not sent any more. It is final: nothing connects
    /// or is kept by this client again, and rooms opened from now on stay empty.
    ///
    /// - Throws: the error of the file system, or of the tokens' store; the rest is done.
    public func signOut() async throws {
        isSignedOut = true
        _ = nextGeneration()
        access.close()
        // First of all: an app that ends right behind it has forgotten what it was to forget, and its person signs out again. The other
        // way round it would be left on the device.
        noteToBeForgotten()
        let signedOut = await attempt { try await tokens.signOut(device: deviceToken) }
        await order { await $0.stop() }
        await backing.receipts.removeAll()
        let unsent = await attempt { try await outbox.stopAndRemoveAll() }
        // Before the cache is removed, so that none is written after.
        for conversation in open.values { await leave(conversation) }
        for board in boards.values { await board.end() }
        boards = [:]
        watchingPaths?.cancel()
        let removals = [
            unsent, await attempt { try await boardFiles.removeAll() },
            await attempt { try await backing.cache.removeAll() },
            await attempt { try await roomCache.removeAll() },
        ]
        for removal in removals { try removal.get() }
        try removeMark()
        try signedOut.get()
    }

    // MARK: Pushes

    /// Has this person's pushes sent to this device, until they sign out. An app calls it at each start, with what the system gives it.
    ///
    /// - Throws: `ClientFailure`.
    public func registerDevice(_ token: Data, environment: PushEnvironment) async throws {
        let text = token.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
        deviceToken = text
        try await api.registerDevice(token: text, environment: environment)
    }

    private func nextGeneration() -> Int {
        latestGeneration += 1
        return latestGeneration
    }

    /// Has the socket do one thing after the other, as they were ordered: on their way to it, an urgent one would overtake.
    private func order(_ body: @escaping @Sendable (RoomsSocket) async -> Void) async {
        let task = Task { [socket, before = lastOrder] in
            await before?.value
            await body(socket)
        }
        lastOrder = task
        await task.value
    }

    private func attempt(_ body: () async throws -> Void) async -> Result<Void, any Error> {
        do { return .success(try await body()) } catch { return .failure(error) }
    }

    // MARK: What happens

    /// Every event that the server sends, in its order, from now on: for what this library does not show.
    ///
    /// Each call makes a sequence of its own. Who is slow misses the oldest events beyond so many; what they change is in
    /// ``rooms``, conversations and boards all the same.
    public func events(bufferingNewest limit: Int = 1_000) -> AsyncStream<RoomEvent> {
        relay.stream(bufferingNewest: limit)
    }

    /// A better network is used at once, in place of after a pause, or after a dead connection was noticed.
    private func watchPaths() {
        guard watchingPaths == nil else { return }
        watchingPaths = Task { [weak self, paths] in
            for await _ in paths.improvements() {
                // The client is not held meanwhile.
                guard let socket = self?.socket, !Task.isCancelled else { return }
                await socket.useBetterNetwork()
            }
        }
    }

    deinit {
        // Nobody is left to see what it brings. What is not sent waits on the disk for the next client, which writes the same files.
        watchingPaths?.cancel()
        access.close()
        Task { [socket, outbox, boards, receipts = backing.receipts] in
            await outbox.stop()
            for board in boards.values { await board.end() }
            await receipts.removeAll()
            await socket.stop()
        }
    }

    private func take(_ update: SocketUpdate) async {
        switch update {
        case .connecting: connection = .connecting
        case .connected:
            connection = .connected
            isPolling = fallback?.isPolling ?? false
        case .disconnected(let failure):
            isAway = true
            connection = Connection(endedBy: failure)
        case .recovered: isAway = false
        case .event(let event):
            relay.send(event)
            if let roomID = event.messageRoomID, open[roomID]?.isEntered != true {
                backing.fresh.note(nil, of: roomID)
            }
        }
        rooms.apply(update)
        for board in boards.values { board.apply(update) }
        for conversation in open.values { conversation.apply(update) }
        if update == .connected {
            await outbox.noteConnection()
            // The device may have been locked before.
            await startOutbox()
            // What it sends is not waited for: its answers come behind what is told here.
            Task { [receipts = backing.receipts] in await receipts.noteConnection() }
        }
    }
}
