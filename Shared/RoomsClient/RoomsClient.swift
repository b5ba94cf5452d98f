import Foundation
import Observation

/// All of it, put together: the calls, the socket, and the one door through which everything that happens comes in, in order.
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

    @ObservationIgnored public let api: RoomsAPI
    @ObservationIgnored public let socket: RoomsSocket
    /// What conversations and lists are given.
    @ObservationIgnored public let server: ServerConnection
    @ObservationIgnored public let clock: any ClientClock
    /// Where what has to outlive the app is kept.
    @ObservationIgnored public let folder: URL
    @ObservationIgnored private let dispatch: @MainActor @Sendable (SocketHappening) async -> Void

    /// - Parameters:
    ///   - server: its address, `https://…` or `http://…`.
    ///   - tokens: `SessionTokens`, unless the app signs in elsewhere.
    ///   - http: by default a `URLSessionTransport`.
    ///   - folder: one for each person who signs in here.
    ///   - dispatch: told one thing after the other; while it is busy the rest waits, so it should do little but decide.
    public init(
        server: URL, tokens: any TokenProvider, http: (any HTTPTransport)? = nil,
        sockets: any SocketTransport = WebSocketTransport(), clock: any ClientClock = SystemClock(), folder: URL,
        dispatch: @escaping @MainActor @Sendable (SocketHappening) async -> Void
    ) {
        let door = Door()
        api = RoomsAPI(transport: http ?? URLSessionTransport(base: server), tokens: tokens)
        socket = RoomsSocket(server: server, transport: sockets, tokens: tokens, clock: clock) {
            await door.client?.take($0)
        }
        self.server = ServerConnection(api: api, socket: socket)
        self.clock = clock
        self.folder = folder
        self.dispatch = dispatch
        door.client = self
    }

    /// What the socket is given before there is a client.
    private final class Door {
        weak var client: RoomsClient?
    }

    /// Connects, and stays connected until `stop`.
    public func start() async {
        if connection != .connected { connection = .connecting }
        await socket.start()
    }

    /// To be called when the app goes to the background, and to sign out. A later `start` catches up.
    public func stop() async { await socket.stop() }

    /// To be called when the app comes to the foreground, and when the network is back.
    public func reconnectNow() async { await socket.reconnectNow() }

    private func take(_ happening: SocketHappening) async {
        switch happening {
        case .connected: connection = .connected
        case .disconnected(let failure) where failure == RoomsSocket.stopped: connection = .idle
        case .disconnected(let failure): connection = failure.isRetryable ? .waiting(failure) : .ended(failure)
        case .event, .recovered: break
        }
        await dispatch(happening)
    }
}
