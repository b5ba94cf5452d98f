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
    /// Unsent messages that could not be read from the disk, and were put aside.
    public private(set) var failures: [OutboxFailure] = []
    /// Why unsent messages cannot be kept on this device; each says so too, and can be sent again.
    public private(set) var outboxFailure: String?

    public let user: Person
    public let rooms: RoomList
    /// For what the app asks itself; it goes on after ``stop()``.
    @ObservationIgnored public let api: RoomsAPI
    @ObservationIgnored public let socket: RoomsSocket
    @ObservationIgnored public let outbox: Outbox
    @ObservationIgnored let backing: Conversation.Backing
    /// Of all that is asked from here.
    @ObservationIgnored private let access: StoppableAccess
    @ObservationIgnored private let roomCache: RoomListCache
    @ObservationIgnored private let conversationSettings: Conversation.Settings
    @ObservationIgnored private let clock: any ClientClock
    /// Until this connection has told what was missed.
    @ObservationIgnored private var isAway = true
    @ObservationIgnored private var open: [String: Conversation] = [:]
    /// How many screens show each open room; none while it is being left.
    @ObservationIgnored private var screens: [String: Int] = [:]
    /// Rises with each word of the app on whether it wants a connection: what an earlier one still waited for is wanted no more.
    @ObservationIgnored private var latestGeneration = 0
    /// For good: nothing begins any more.
    @ObservationIgnored private var isSignedOut = false
    @ObservationIgnored private var lastOrder: Task<Void, Never>?

    /// A system gives an app about five seconds on its way to the background.
    private static let backgroundTime: Duration = .seconds(3)

    /// - Parameters:
    ///   - server: its address, `https://…` or `http://…`.
    ///   - user: who is signed in, by these tokens.
    ///   - tokens: `SessionTokens`, unless the app signs in elsewhere.
    ///   - http: by default a `URLSessionTransport`.
    ///   - folder: where unsent messages, and rooms and messages for the next start, are kept; one for each person on each server.
    public init(
        server: URL, user: Person, tokens: any TokenProvider, http: (any HTTPTransport)? = nil,
        sockets: any SocketTransport = WebSocketTransport(), clock: any ClientClock = SystemClock(), folder: URL,
        settings: Settings = Settings()
    ) {
        let eventRelay = EventRelay()
        let http = http ?? URLSessionTransport(base: server)
        let access = StoppableAccess(http, tokens)
        let socket = RoomsSocket(server: server, transport: sockets, tokens: tokens, clock: clock) {
            await eventRelay.client?.take($0)
        }
        let connection = ServerConnection(api: RoomsAPI(transport: access, tokens: access), socket: socket)
        self.user = user
        self.clock = clock
        self.access = access
        self.socket = socket
        api = RoomsAPI(transport: http, tokens: tokens)
        outbox = Outbox(
            folder: folder.appending(path: "outbox", directoryHint: .isDirectory), server: connection, clock: clock,
            settings: settings.outbox)
        backing = Conversation.Backing(
            server: connection, outbox: outbox,
            cache: MessageCache(
                folder: folder.appending(path: "cache", directoryHint: .isDirectory), clock: clock,
                messageLimit: settings.messageLimit, roomLimit: settings.roomLimit),
            receipts: ReadReceipts(server: connection, clock: clock, settings: settings.receipts), clock: clock)
        roomCache = RoomListCache(folder: folder.appending(path: "rooms", directoryHint: .isDirectory))
        rooms = RoomList(for: user.id, from: connection, order: settings.order, clock: clock, cache: roomCache)
        conversationSettings = settings.conversation
        eventRelay.client = self
        rooms.onGone = { [weak self] roomID in Task { await self?.forget(roomID) } }
    }

    /// What the socket is given before there is a client.
    private final class EventRelay {
        weak var client: RoomsClient?
    }

    // MARK: The app's life

    /// Shows the rooms, connects, and stays connected until `stop`. What was not sent when the app ended is sent now.
    ///
    /// This and what follows may be called in any order, before the one before has returned: the last one says what is wanted.
    public func start() async {
        if isSignedOut { return }
        await start(nextGeneration())
    }

    private func start(_ generation: Int) async {
        access.open()
        await startOutbox()
        guard generation == latestGeneration else { return }
        rooms.loadFirst()
        await order { await $0.start() }
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

    /// To be called when the app goes to the background, and may not come back: keeps and tells what waits for it, for at most
    /// three seconds, and disconnects.
    public func enterBackground() async {
        let generation = nextGeneration()
        let (conversations, receipts) = (Array(open.values), backing.receipts)
        // Telling is cut short then, and goes on when the app comes back; what is left to write is written beside the rest.
        try? await within(Self.backgroundTime, by: clock, else: "there was no more time") {
            for conversation in conversations { await conversation.enterBackground() }
            // Of rooms that were closed just before, too.
            await receipts.flush()
        }
        guard generation == latestGeneration else { return }
        await order { await $0.stop() }
    }

    /// To be called when the app comes to the foreground, and when the network is back.
    public func enterForeground() async {
        if isSignedOut { return }
        let generation = nextGeneration()
        await start(generation)
        guard generation == latestGeneration else { return }
        await socket.reconnectNow()
        guard generation == latestGeneration else { return }
        await rooms.becomeActive()
    }

    /// Ends everything here, and leaves nothing of this person on the device, unsent messages included. The server is not waited
    /// for: what was read and not told yet is told no more. It is final: nothing connects or is kept by this client again, and rooms
    /// opened from now on stay empty.
    ///
    /// - Throws: what the file system says; the rest is done.
    public func signOut() async throws {
        isSignedOut = true
        _ = nextGeneration()
        access.close()
        await order { await $0.stop() }
        await backing.receipts.removeAll()
        let unsent = await attempt { try await outbox.stopAndRemoveAll() }
        // Before the cache is removed, so that none is written after.
        for conversation in open.values { await leave(conversation) }
        let removals = [
            unsent, await attempt { try await backing.cache.removeAll() },
            await attempt { try await roomCache.removeAll() },
        ]
        for removal in removals { try removal.get() }
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

    // MARK: Rooms

    /// Opens a room: its conversation shows what is kept at once, and what the server has as soon as it answers; its badge of
    /// elements is gone.
    ///
    /// - Returns: for all screens of one room the same. Each has to ``close(_:)`` it.
    public func open(_ room: Room) -> Conversation {
        let conversation =
            open[room.id]
            ?? Conversation(
                roomID: room.id, ownID: user.id, participantIDs: Set(room.participants.map(\.userId)), isAway: isAway,
                backing: backing, settings: conversationSettings)
        if isSignedOut { return conversation }
        open[room.id] = conversation
        screens[room.id, default: 0] += 1
        if screens[room.id] == 1 { rooms.enter(room.id) }
        conversation.beginVisit()
        return conversation
    }

    /// The room's screen is gone. With the last one the room is left; the network is not waited for.
    public func close(_ conversation: Conversation) async {
        let roomID = conversation.roomID
        guard open[roomID] === conversation, let count = screens[roomID], count > 0 else { return }
        screens[roomID] = count - 1
        if count == 1 { await leave(conversation) }
    }

    private func leave(_ conversation: Conversation) async {
        let roomID = conversation.roomID
        screens[roomID] = 0
        rooms.beginLeaving(roomID)
        // Until it is done it is the room's conversation: opened again meanwhile, no second one writes beside it.
        let before = conversation.visit
        let leaving = await conversation.leave()
        // Opened again meanwhile it stays; closed again, too, the rest is for that closing.
        guard open[roomID] === conversation, screens[roomID] == 0, conversation.visit - before <= 1 else { return }
        (open[roomID], screens[roomID]) = (nil, nil)
        Task {
            await leaving?.value
            // Somebody may have come back meanwhile.
            if open[roomID] == nil { rooms.leave(roomID) }
        }
    }

    /// A room that one is no longer part of leaves no trace.
    private func forget(_ roomID: String) async {
        await open[roomID]?.end()
        await backing.cache.remove(roomID)
        await outbox.removeAll(in: roomID)
    }

    // MARK: What happens

    private func take(_ update: SocketUpdate) async {
        switch update {
        case .connecting: connection = .connecting
        case .connected: connection = .connected
        case .disconnected(let failure):
            isAway = true
            connection = Connection(endedBy: failure)
        case .recovered: isAway = false
        case .event: break
        }
        rooms.apply(update)
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
