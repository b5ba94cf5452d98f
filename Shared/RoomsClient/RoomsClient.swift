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
    /// How the socket stands, for a line above the list.
    public enum Connection: Equatable, Sendable {
        /// Not started, or stopped.
        case idle
        case connecting
        case connected
        /// It comes back by itself.
        case waiting(ClientFailure)
        /// It does not, until it is started again: nobody is signed in, or the server refuses for good.
        case ended(ClientFailure)
    }

    public private(set) var connection = Connection.idle
    /// Unsent messages that could not be read from the disk, and were put aside.
    public private(set) var troubles: [OutboxTrouble] = []
    /// Why unsent messages cannot be kept on this device; each says so too, and can be sent again.
    public private(set) var outboxFailure: String?

    public let user: Person
    public let rooms: RoomList
    @ObservationIgnored public let api: RoomsAPI
    @ObservationIgnored public let socket: RoomsSocket
    @ObservationIgnored public let outbox: Outbox
    @ObservationIgnored let backing: Conversation.Backing
    @ObservationIgnored private let conversationSettings: Conversation.Settings
    @ObservationIgnored private var open: [String: Conversation] = [:]

    /// - Parameters:
    ///   - server: its address, `https://…` or `http://…`.
    ///   - user: who is signed in, by these tokens.
    ///   - tokens: `SessionTokens`, unless the app signs in elsewhere.
    ///   - http: by default a `URLSessionTransport`.
    ///   - folder: where unsent and cached messages are kept; one for each person on each server.
    public init(
        server: URL, user: Person, tokens: any TokenProvider, http: (any HTTPTransport)? = nil,
        sockets: any SocketTransport = WebSocketTransport(), clock: any ClientClock = SystemClock(), folder: URL,
        settings: Conversation.Settings = Conversation.Settings()
    ) {
        let door = Door()
        let api = RoomsAPI(transport: http ?? URLSessionTransport(base: server), tokens: tokens)
        let socket = RoomsSocket(server: server, transport: sockets, tokens: tokens, clock: clock) {
            await door.client?.take($0)
        }
        let connection = ServerConnection(api: api, socket: socket)
        self.user = user
        self.api = api
        self.socket = socket
        outbox = Outbox(
            folder: folder.appending(path: "outbox", directoryHint: .isDirectory), server: connection, clock: clock)
        backing = Conversation.Backing(
            server: connection, outbox: outbox,
            cache: MessageCache(folder: folder.appending(path: "cache", directoryHint: .isDirectory), clock: clock),
            receipts: ReadReceipts(server: connection, clock: clock), clock: clock)
        rooms = RoomList(for: user.id, from: connection, clock: clock)
        conversationSettings = settings
        door.client = self
    }

    /// What the socket is given before there is a client.
    private final class Door {
        weak var client: RoomsClient?
    }

    // MARK: The app's life

    /// Connects, and stays connected until `stop`. What was not sent when the app ended is sent now.
    public func start() async {
        if connection != .connected { connection = .connecting }
        do {
            troubles += try await outbox.start()
            outboxFailure = nil
        } catch {
            outboxFailure = error.localizedDescription
        }
        await socket.start()
    }

    /// Disconnects. A later `start` catches up.
    public func stop() async { await socket.stop() }

    /// To be called when the app goes to the background, and may not come back.
    public func enterBackground() async {
        for conversation in open.values { await conversation.enterBackground() }
        await stop()
    }

    /// To be called when the app comes to the foreground, and when the network is back.
    public func enterForeground() async {
        await start()
        await socket.reconnectNow()
        await rooms.becomeActive()
    }

    /// Ends everything here, and leaves nothing of this person on the device, unsent messages included.
    ///
    /// - Throws: what the file system says; the rest is done.
    public func signOut() async throws {
        for conversation in open.values { await close(conversation) }
        await stop()
        await backing.receipts.removeAll()
        let removals = [
            await attempt { try await outbox.stopAndRemoveAll() },
            await attempt { try await backing.cache.removeAll() },
        ]
        for removal in removals { try removal.get() }
    }

    private func attempt(_ body: () async throws -> Void) async -> Result<Void, any Error> {
        do { return .success(try await body()) } catch { return .failure(error) }
    }

    // MARK: Rooms

    /// Opens a room: its conversation shows what is kept at once, and what the server has as soon as it answers; its badge of
    /// elements is gone.
    public func open(_ room: Room) -> Conversation {
        if let known = open[room.id] { return known }
        let conversation = Conversation(
            roomID: room.id, ownID: user.id, participantIDs: Set(room.participants.map(\.userId)), backing: backing,
            settings: conversationSettings)
        open[room.id] = conversation
        rooms.enter(room.id)
        Task { await conversation.enter() }
        return conversation
    }

    /// The room's screen is gone.
    public func close(_ conversation: Conversation) async {
        guard open[conversation.roomID] === conversation else { return }
        open[conversation.roomID] = nil
        rooms.beginLeaving(conversation.roomID)
        await conversation.leave()
        // Somebody may have come back meanwhile.
        if open[conversation.roomID] == nil { rooms.leave(conversation.roomID) }
    }

    // MARK: What happens

    private func take(_ happening: SocketHappening) async {
        switch happening {
        case .connected: connection = .connected
        case .disconnected(let failure) where failure == RoomsSocket.stopped: connection = .idle
        case .disconnected(let failure): connection = failure.isRetryable ? .waiting(failure) : .ended(failure)
        case .event, .recovered: break
        }
        rooms.apply(happening)
        for conversation in open.values { conversation.apply(happening) }
        if happening == .connected {
            await outbox.noteConnection()
            // What it sends is not waited for: its answers come behind what is told here.
            Task { [receipts = backing.receipts] in await receipts.noteConnection() }
        }
    }
}
