import Foundation

/// The socket: connected while it is started, and catching up after each reconnect.
///
/// **Nothing is lost.** Every `sync:done` brings a cursor: the position up to which the client has
/// all events. Live events carry none, so it advances only at each connect. The next connect has
/// the server replay all entries since then, in order, including the live events of the last
/// connection. So an event may be delivered twice, but the last delivery is always in the log's
/// order. The first connect sends a cursor that is invalid, and the contract answers it with a
/// fresh one. An access token's lifetime bounds a connection's, and with it the length of a replay.
/// Beyond 10,000 events the server answers `recovered: false` instead.
///
/// **Every queue is bounded.** The handler gets one update after the other, on the main actor.
/// While it is busy, a bounded number of updates wait, and then the connection is not read. So the
/// handler should not wait for a reply of this socket.
///
/// Joined rooms are joined again at each connect, until they are left or the server refuses.
public actor RoomsSocket {
    /// The failure in `disconnected` after `stop`.
    static let stopped = ClientFailure.offline("stopped")
    /// For a token, and for the WebSocket.
    static let connectTimeout: Duration = .seconds(15)
    /// For the server's first word on it.
    static let handshakeTimeout: Duration = .seconds(12)
    public static let ackTimeout: Duration = .seconds(10)
    /// For an answer on another network. One that comes later than this costs no more than a reconnect.
    static let probeTimeout: Duration = .seconds(5)
    /// The time for the server's `sync:done`. A server that sends nothing in it is taken for one
    /// without recovery.
    static let syncTimeout: Duration = .seconds(20)
    /// The time after which a server that sends other events, but no `sync:done`, counts as one
    /// without recovery.
    static let longestSync: TimeInterval = 120
    /// A connection that held for so long was a good one, and the next attempts begin with short pauses.
    private static let goodConnection: TimeInterval = 2

    let url: URL
    private let transport: any SocketTransport
    let tokens: any TokenProvider
    let clock: any ClientClock
    let random: @Sendable () -> Double
    private let handler: @MainActor @Sendable (SocketUpdate) async -> Void

    private let queue = SocketUpdateQueue()
    private var deliveryTask: Task<Void, Never>?
    private var running: Task<Void, Never>?
    /// Rises with each start and stop: what belongs to an earlier one has no say any more.
    private var run = 0
    private var pause: Task<Void, any Error>?
    private var skipsPause = false
    private var backoff = Backoff()
    private(set) var cursor: String?
    /// The connection, once the server has accepted it.
    private(set) var link: SocketLink? {
        didSet {
            joiner?.cancel()
            joiner = nil
        }
    }
    private var awaitsSync = false
    /// When the last event came.
    private var notifiedAt = Date.distantPast
    var rooms = JoinedRooms()
    /// Joins the rooms of `link`, and ends with it.
    var joiner: Task<Void, Never>?

    /// - Parameters:
    ///   - server: its address, `https://…` or `http://…`.
    ///   - random: from 0 up to 1; spreads the clients that reconnect.
    ///   - handler: receives one update after the other.
    public init(
        server: URL, transport: any SocketTransport, tokens: any TokenProvider, clock: any ClientClock = SystemClock(),
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        handler: @escaping @MainActor @Sendable (SocketUpdate) async -> Void
    ) {
        url = server.socketAddress
        self.transport = transport
        self.tokens = tokens
        self.clock = clock
        self.random = random
        self.handler = handler
    }

    deinit {
        // What had arrived is still told.
        queue.finish()
    }

    /// Of this connection, once all that was missed has come on it.
    var connectionCursor: String? { link != nil && !awaitsSync ? cursor : nil }

    // MARK: - Starting and stopping

    /// Connects, and stays connected until `stop`, until nobody is signed in, or until the server wants this client gone. It is
    /// kept alive meanwhile. Calling it while it runs does nothing.
    public func start() {
        guard running == nil else { return }
        if deliveryTask == nil {
            // On the main actor, so that a burst of updates is one job there and not one job each.
            deliveryTask = Task { @MainActor [queue, handler] in
                while let updates = await queue.next() {
                    for update in updates { await handler(update) }
                }
            }
        }
        run += 1
        skipsPause = false
        backoff.reset()
        running = Task { [run] in await stayConnected(run) }
    }

    /// Ends the connection, for example when the app goes to the background. Updates that had
    /// arrived are still delivered, and then `disconnected`. A later `start` catches up.
    public func stop() async {
        guard let running else { return }
        self.running = nil
        run += 1
        running.cancel()
        pause?.cancel()
        pause = nil
        let link = link
        self.link = nil
        // Before anything that a start from now on tells; not waiting for room: it may be the one who is told that calls this.
        queue.put(.disconnected(Self.stopped))
        await link?.close(Self.stopped)
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

    /// Connects at once, as ``reconnectNow()`` does, when there is another network than before. A connection of the one before may be
    /// dead, and does not say so: it has `probeTimeout` to answer.
    func useBetterNetwork() async {
        await reconnectNow()
        guard let link else { return }
        do {
            // A room that is not joined: nothing happens. The server takes no pings.
            _ = try await link.ask("room:leave", ["roomId": .string("none")], timeout: Self.probeTimeout)
        } catch ClientFailure.offline {
            guard link === self.link else { return }
            skipsPause = true
            await link.close(.offline("the connection has not outlived its network"))
        } catch {
            // A refusal is an answer, too.
        }
    }

    // MARK: - Staying connected

    private func stayConnected(_ run: Int) async {
        // Stopped before it began.
        guard run == self.run else { return }
        queue.put(.connecting)
        var wasNotified = false
        while run == self.run {
            let startedAt = clock.now
            let (failure, wasConnected) = await connectOnce(run)
            guard run == self.run else { return }
            guard failure.isRetryable else {
                // First, so that whoever is told may start it again.
                running = nil
                self.run += 1
                return await queue.add(.disconnected(failure))
            }
            if wasConnected || !wasNotified { await queue.add(.disconnected(failure)) }
            wasNotified = true
            if wasConnected, clock.now.timeIntervalSince(startedAt) >= Self.goodConnection { backoff.reset() }
            await waitForNextAttempt(run, after: failure)
        }
    }

    private func waitForNextAttempt(_ run: Int, after failure: ClientFailure) async {
        guard run == self.run else { return }
        let delay = backoff.next(random: random(), atLeast: failure.retryAfter)
        if !skipsPause {
            let pause = Task { [clock] in try await clock.sleep(for: delay) }
            self.pause = pause
            // Cancelled by `reconnectNow` or `stop`: both mean that it goes on.
            _ = await pause.result
            guard run == self.run else { return }
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
            let token = try await within(Self.connectTimeout, by: clock, else: "no token") { [tokens] in
                try await tokens.token()
            }
            let connection = try await within(
                Self.connectTimeout, by: clock, else: "no connection", tooLate: Self.close
            ) { [transport, url] in
                try await transport.connect(to: url)
            }
            let opened = SocketLink(connection, clock: clock, handshakeTimeout: Self.handshakeTimeout)
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

    @Sendable
    private static func close(_ connection: any SocketConnection) { connection.close() }

    /// Reads until the connection is over.
    private func serve(_ link: SocketLink) async throws -> ClientFailure {
        self.link = link
        // Whoever was in a hurry has what they wanted: the next loss is another one.
        skipsPause = false
        awaitsSync = true
        await queue.add(.connected)
        // Stopped meanwhile, perhaps started again: rooms are another connection's now.
        guard link === self.link else { throw CancellationError() }
        let syncTimeout = Task { await awaitSync(of: link) }
        defer { syncTimeout.cancel() }
        rooms.forgetConnection()
        joinRooms(over: link)
        while true {
            let incoming = try await link.next()
            // What a connection says that was given up, the next one is told again.
            guard link === self.link else { throw CancellationError() }
            switch incoming {
            case .dismissed:
                return SocketLink.dismissal
            case .event("sync:done", let data): await take(try ServerDecoder().decode(SyncDone.self, from: data))
            case .event(let name, let data):
                notifiedAt = clock.now
                await queue.add(.event(RoomEvent.decode(name: name, data: data)))
            }
        }
    }

    private func take(_ done: SyncDone) async {
        awaitsSync = false
        // All that was told before it is in the queue, which outlives the connection.
        cursor = done.cursor
        await queue.add(.recovered(done.recovered))
    }

    private func awaitSync(of link: SocketLink) async {
        let start = clock.now
        notifiedAt = start
        var quiet: Duration
        repeat {
            // Cancelled with the connection.
            guard (try? await clock.sleep(for: Self.syncTimeout)) != nil else { return }
            guard awaitsSync, link === self.link else { return }
            quiet = .seconds(clock.now.timeIntervalSince(notifiedAt))
        } while quiet < Self.syncTimeout && clock.now.timeIntervalSince(start) < Self.longestSync
        guard awaitsSync, link === self.link else { return }
        awaitsSync = false
        await queue.add(.recovered(false))
    }

    private func lose(_ link: SocketLink?, _ failure: ClientFailure) async {
        guard let link else { return }
        if self.link === link { self.link = nil }
        await link.close(failure)
    }
}
