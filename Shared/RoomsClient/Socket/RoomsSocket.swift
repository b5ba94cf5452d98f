import Foundation

/// The socket: connected while it is started, and catching up whenever it comes back.
///
/// **Nothing is lost.** Every `sync:done` brings a cursor: the position up to which everything has been told. Live events carry
/// none, so it moves at each connect only, and the next connect has the server repeat all since then, in order, the live events
/// of the last connection included. An event may so be told twice, and never out of the log's order after the last time. The
/// first connect gives a cursor that is none, which the contract answers with a fresh one. An access token's life bounds a
/// connection's, and with it how much is ever repeated; over 10,000 events the server says `recovered: false` instead.
///
/// **Nothing piles up.** The handler is told one thing after the other, on the main actor; while it is busy, a bounded number of
/// happenings wait, and then the connection is not read. So it should not wait for an answer of this very socket.
///
/// Rooms that were joined are joined again at each connect, until they are left or the server refuses.
public actor RoomsSocket {
    /// What `disconnected` says after `stop`.
    static let stopped = ClientFailure.offline("stopped")
    /// What the contract takes for no cursor of anyone's.
    private static let noCursor = "none"
    /// For a token, for the WebSocket, and for each answer of the handshake.
    static let connectTimeout: Duration = .seconds(15)
    public static let ackTimeout: Duration = .seconds(10)
    /// A server that says no `sync:done` in this time is taken for one that knows no recovery.
    static let syncTimeout: Duration = .seconds(20)
    /// A connection that held for so long was a good one, and the next attempts begin with short pauses.
    private static let goodConnection: TimeInterval = 10

    let url: URL
    private let transport: any SocketTransport
    private let tokens: any TokenProvider
    let clock: any ClientClock
    private let random: @Sendable () -> Double
    private let handler: @MainActor @Sendable (SocketHappening) async -> Void

    private let queue = HappeningQueue()
    private var teller: Task<Void, Never>?
    private var running: Task<Void, Never>?
    /// Rises with each start and stop: what belongs to an earlier one has no say any more.
    private var run = 0
    private var pause: Task<Void, any Error>?
    private var skipsPause = false
    private var backoff = Backoff()
    private var cursor: String?
    /// The connection, once the server has accepted it.
    private(set) var link: SocketLink?
    private var awaitsSync = false
    var rooms = JoinedRooms()
    var joiner: Task<Void, Never>?

    /// - Parameters:
    ///   - server: its address, `https://…` or `http://…`.
    ///   - random: from 0 up to 1; spreads the clients that come back.
    ///   - handler: told one thing after the other.
    public init(
        server: URL, transport: any SocketTransport, tokens: any TokenProvider, clock: any ClientClock = SystemClock(),
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        handler: @escaping @MainActor @Sendable (SocketHappening) async -> Void
    ) {
        url = Self.socketURL(of: server)
        self.transport = transport
        self.tokens = tokens
        self.clock = clock
        self.random = random
        self.handler = handler
    }

    deinit {
        // What had arrived is still told.
        Task { [queue] in await queue.finish() }
    }

    public var isConnected: Bool { link != nil }

    // MARK: - Starting and stopping

    /// Connects, and stays connected until `stop`, until nobody is signed in, or until the server wants this client gone. It is
    /// kept alive meanwhile. Calling it while it runs does nothing.
    public func start() {
        guard running == nil else { return }
        if teller == nil {
            teller = Task { [queue, handler] in
                while let happening = await queue.next() { await handler(happening) }
            }
        }
        run += 1
        backoff.reset()
        running = Task { [run] in await stayConnected(run) }
    }

    /// Ends the connection, in the background for one. What had arrived is still told, and then `disconnected`. A later `start`
    /// catches up.
    public func stop() async {
        guard let running else { return }
        self.running = nil
        run += 1
        running.cancel()
        pause?.cancel()
        await lose(link, Self.stopped)
        // Not waiting for room: it may be the one who is told that calls this.
        await queue.put(.disconnected(Self.stopped))
    }

    /// Connects at once, in place of after a pause: when the app comes to the foreground, or the network back. A connection that
    /// has been silent for longer than pings are apart is given up.
    public func reconnectNow() async {
        backoff.reset()
        skipsPause = link == nil
        pause?.cancel()
        if let link, await link.isStale() {
            skipsPause = true
            await link.close(.offline("the server has fallen silent"))
        }
    }

    // MARK: - Asking

    /// Sends an event, and waits for its ack.
    ///
    /// - Returns: the ack's object.
    /// - Throws: `ClientFailure.refused`; `ClientFailure.offline` at once if there is no connection, or if it ends, or no ack comes
    ///   in time: then what was asked may have been done.
    public func emit(
        _ event: String, _ payload: JSON, timeout: Duration = RoomsSocket.ackTimeout
    ) async throws -> Data {
        guard let link else { throw ClientFailure.offline("not connected") }
        return try await link.ask(event, payload, timeout: timeout)
    }

    /// Sends an event that wants no answer; a refusal comes as `RoomEvent.requestFailed`. Without a connection it is dropped.
    public func tell(_ event: String, _ payload: JSON) async {
        // A connection that is over says so to who reads it.
        try? await link?.tell(event, payload)
    }

    // MARK: - Staying connected

    private func stayConnected(_ run: Int) async {
        var wasTold = false
        while run == self.run {
            let startedAt = clock.now
            let (failure, wasConnected) = await connectOnce(run)
            guard run == self.run else { return }
            if wasConnected || !wasTold || !failure.isRetryable { await queue.add(.disconnected(failure)) }
            wasTold = true
            guard run == self.run else { return }
            guard failure.isRetryable else {
                running = nil
                self.run += 1
                return
            }
            if wasConnected, clock.now.timeIntervalSince(startedAt) >= Self.goodConnection { backoff.reset() }
            await waitForNextAttempt(after: failure)
        }
    }

    private func waitForNextAttempt(after failure: ClientFailure) async {
        var least: Duration?
        if case .refused(let refusal) = failure { least = refusal.retryAfter }
        let delay = backoff.next(random: random(), atLeast: least)
        if !skipsPause {
            let pause = Task { [clock] in try await clock.sleep(for: delay) }
            self.pause = pause
            // Cancelled by `reconnectNow` or `stop`: both mean that it goes on.
            _ = await pause.result
            self.pause = nil
        }
        skipsPause = false
    }

    /// Returns when the connection is over, or none was had.
    private func connectOnce(_ run: Int) async -> (ClientFailure, wasConnected: Bool) {
        var link: SocketLink?
        var wasConnected = false
        let failure: ClientFailure
        do {
            let token = try await bounded("no token") { [tokens] in try await tokens.token() }
            let connection = try await bounded("no connection") { [transport, url] in
                try await transport.connect(to: url)
            }
            let opened = SocketLink(connection, clock: clock, handshakeTimeout: Self.connectTimeout)
            link = opened
            try await opened.open()
            try await join(opened, token)
            guard run == self.run else { throw CancellationError() }
            wasConnected = true
            failure = try await serve(opened)
        } catch ClientFailure.unreadable(let words) {
            // Something else than the server, a hotel's login page for one, may answer today.
            failure = .offline(words)
        } catch let known as ClientFailure {
            failure = known
        } catch {
            failure = .offline("\(error)")
        }
        await lose(link, failure)
        return (failure, wasConnected)
    }

    private func bounded<Value: Sendable>(
        _ complaint: String, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await within(Self.connectTimeout, by: clock, else: complaint, work)
    }

    /// Has the server accept the token; one that it refuses is replaced once, on the same connection.
    private func join(_ link: SocketLink, _ token: String) async throws {
        var token = token
        for isLast in [false, true] {
            let auth: JSON = ["token": .string(token), "since": .string(cursor ?? Self.noCursor)]
            switch try await link.connect(auth: auth) {
            case .accepted: return
            case .refused(let message, let code):
                guard code == "unauthenticated" else {
                    throw ClientFailure.refused(
                        Refusal(code: code ?? "refused", message: message, isRetryable: true))
                }
                if isLast { throw ClientFailure.signedOut }
                token = try await bounded("no token") { [tokens, token] in try await tokens.token(replacing: token) }
            }
        }
    }

    /// Reads until the connection is over.
    private func serve(_ link: SocketLink) async throws -> ClientFailure {
        self.link = link
        awaitsSync = true
        await queue.add(.connected)
        let patience = Task { [clock] in
            // Cancelled with the connection.
            guard (try? await clock.sleep(for: Self.syncTimeout)) != nil else { return }
            await missSync(of: link)
        }
        defer { patience.cancel() }
        rooms.forgetConnection()
        joinRooms(over: link)
        while true {
            switch try await link.next() {
            case .dismissed:
                return SocketLink.dismissal
            case .event("sync:done", let data): await take(try ServerDecoder().decode(SyncDone.self, from: data))
            case .event(let name, let data): await queue.add(.event(RoomEvent.decode(name: name, data: data)))
            }
        }
    }

    private func take(_ done: SyncDone) async {
        awaitsSync = false
        // All that was told before it is in the queue, which outlives the connection.
        cursor = done.cursor
        await queue.add(.recovered(done.recovered))
    }

    private func missSync(of link: SocketLink) async {
        guard awaitsSync, link === self.link else { return }
        awaitsSync = false
        await queue.add(.recovered(false))
    }

    private func lose(_ link: SocketLink?, _ failure: ClientFailure) async {
        guard let link else { return }
        if self.link === link {
            self.link = nil
            joiner?.cancel()
            joiner = nil
        }
        await link.close(failure)
    }

    static func socketURL(of server: URL) -> URL {
        guard var parts = URLComponents(url: server, resolvingAgainstBaseURL: true) else { return server }
        parts.scheme = parts.scheme == "https" || parts.scheme == "wss" ? "wss" : "ws"
        while parts.percentEncodedPath.hasSuffix("/") { parts.percentEncodedPath.removeLast() }
        parts.percentEncodedPath += "/socket.io/"
        parts.percentEncodedQuery = "EIO=4&transport=websocket"
        return parts.url ?? server
    }

    private struct SyncDone: Decodable {
        let recovered: Bool
        let cursor: String
    }
}
