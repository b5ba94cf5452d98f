import Foundation

/// The connection to the server's socket. It reconnects by itself, and catches up after each reconnect.
///
/// **No event is lost.** Each `sync:done` brings a cursor: the position up to which the client has all events. Live
/// events carry none, so the cursor advances only at each connect. At the next connect the server replays everything
/// since then, in order, including the live events of the last connection. So an event may be delivered twice. The
/// replay is always in the log's order. A client without a cursor sends an invalid one, and the server answers with a
/// fresh one. A connection lives no longer than its access token, which limits the length of a replay. If more than
/// 10,000 events were missed, the server answers `recovered: false` instead.
///
/// **Every queue is bounded.** The handler gets one update after the other, on the main actor. While it is busy, a
/// limited number of updates wait; beyond that the connection is not read. So the handler must not wait for a reply
/// of this socket.
///
/// Joined rooms are joined again at each connect, until they are left or the server refuses them for good.
public actor RoomsSocket {
    /// The default time limit for an ack.
    public static let ackTimeout: Duration = .seconds(10)
    /// The time in which a connection must answer after a change of network. If the answer comes later, the client has
    /// merely reconnected without need.
    static let probeTimeout: Duration = .seconds(5)
    /// A connection that ends later than this, in seconds from the start of its attempt, resets the backoff.
    private static let goodConnection: TimeInterval = 2

    private let opening: SocketOpening
    let clock: any ClientClock
    let random: @Sendable () -> Double
    private let handler: @MainActor @Sendable (SocketUpdateQueue.Element) async -> Void

    let queue = SocketUpdateQueue()
    private var deliveryTask: Task<Void, Never>?
    private var running: Task<Void, Never>?
    /// Rises with each start and stop. A task of an earlier run ends when it sees that.
    private var run = 0
    /// The pause before the next attempt.
    private var pause: Task<Void, any Error>?
    private var skipsPause = false
    /// True if ``start()`` was called while the socket finds out why the server ended the connection for good; false if
    /// it was not. nil at other times.
    private var startsAgain: Bool?
    private var backoff = Backoff()
    private(set) var cursor: String?
    /// The cursor of this connection's `sync:done`, with which all missed events have arrived. It is nil before
    /// `sync:done`, without a connection, and on a server without `sync:done`. `cursor` is then from an earlier
    /// connection.
    private(set) var connectionCursor: String?
    /// The connection that the server has accepted; nil before that, and after its end.
    private(set) var link: SocketLink? {
        didSet {
            joiner?.cancel()
            joiner = nil
            connectionCursor = nil
        }
    }
    /// True until the connection's `sync:done`, or until it is no longer expected.
    private var awaitsSync = false
    private var syncWait = SyncWait()
    var rooms = JoinedRooms()
    /// The task that joins rooms over `link`. It ends with the link.
    var joiner: Task<Void, Never>?

    /// Creates a socket. ``start()`` connects it.
    ///
    /// - Parameters:
    ///   - server: the server's address, `https://…` or `http://…`.
    ///   - random: returns a number from 0 up to 1, which spreads the reconnects of many clients.
    ///   - deliver: receives one update after the other, with the cursor of each recovery.
    init(
        server: URL, transport: any SocketTransport, tokens: any TokenProvider, clock: any ClientClock,
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        deliver: @escaping @MainActor @Sendable (SocketUpdateQueue.Element) async -> Void
    ) {
        opening = SocketOpening(url: server.socketAddress, transport: transport, tokens: tokens, clock: clock)
        self.clock = clock
        self.random = random
        handler = deliver
    }

    deinit {
        // Updates that have arrived are still delivered.
        queue.finish()
    }

    // MARK: - Starting and stopping

    /// Continues from a cursor of an earlier run of the app: the next connect replays everything since then. Does
    /// nothing if the socket has a later cursor.
    func resume(from earlier: String) { cursor = cursor ?? earlier }

    /// Connects, and stays connected until ``stop()`` or until a failure that is not retryable: nobody is signed in, or
    /// the server does not want this client to reconnect.
    ///
    /// While it is started, this object stays in memory, even without a reference from the app. A call while it is
    /// started does nothing, with one exception. If the server ends the connection for good, the socket first finds out
    /// why. A call during that time connects again after `disconnected`.
    package func start() {
        guard running == nil else {
            if startsAgain != nil { startsAgain = true }
            return
        }
        if deliveryTask == nil {
            // The loop runs on the main actor, so that a burst of updates is one job there instead of one each.
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

    /// Ends the connection, for example when the app goes to the background. Updates that have arrived are still
    /// delivered, and then `disconnected`. A later ``start()`` catches up.
    package func stop() async {
        startsAgain = nil
        guard let running else { return }
        self.running = nil
        run += 1
        running.cancel()
        pause?.cancel()
        pause = nil
        let link = link
        self.link = nil
        // This comes before the updates of a later `start`. It does not wait for room in the queue, because the
        // handler itself may have called `stop`.
        queue.put(.disconnected(.stopped))
        await link?.close(.stopped)
    }

    /// Connects at once instead of after the pause, for example when the app comes to the foreground or the network is
    /// available again. A connection that has been silent for five seconds longer than the ping interval is replaced.
    ///
    /// It does not start a socket that is stopped.
    package func reconnectNow() async {
        backoff.reset()
        skipsPause = link == nil
        pause?.cancel()
        if let link, await link.isStale() {
            skipsPause = true
            await link.close(.offline("the server has fallen silent"))
        }
    }

    /// Connects at once, as ``reconnectNow()`` does, because the device has switched to another network. A connection
    /// over the old one may be dead without an error, so it is replaced unless it answers within `probeTimeout`.
    func useBetterNetwork() async {
        await reconnectNow()
        guard let link, await !link.answers(within: Self.probeTimeout), link === self.link else { return }
        skipsPause = true
        await link.close(.offline("the connection ended with its network"))
    }

    // MARK: - Staying connected

    private func stayConnected(_ run: Int) async {
        // `stop` may have been called before this task began.
        guard run == self.run else { return }
        // Without a session there is no attempt, so `disconnected` follows at once.
        let isSignedIn = await opening.tokens.isSignedIn()
        guard run == self.run else { return }
        if isSignedIn { queue.put(.connecting) }
        var wasNotified = false
        while run == self.run {
            let startedAt = clock.now
            let (failure, wasConnected) = await connectOnce(run)
            guard run == self.run else { return }
            guard failure.isRetryable else {
                // The socket stops before the update, so that the handler can start it again.
                running = nil
                self.run += 1
                await queue.add(.disconnected(failure))
                if startsAgain == true { start() }
                startsAgain = nil
                return
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
            // `reconnectNow` and `stop` cancel the pause. After `stop`, `run` has changed.
            _ = await pause.result
            guard run == self.run else { return }
            self.pause = nil
        }
        skipsPause = false
    }

    /// Makes one attempt. Returns when it has failed, or when its connection has ended.
    private func connectOnce(_ run: Int) async -> (ClientFailure, wasConnected: Bool) {
        var link: SocketLink?
        var wasConnected = false
        let failure: ClientFailure
        do {
            let opened = try await opening.open(since: cursor)
            link = opened
            guard run == self.run else { throw CancellationError() }
            wasConnected = true
            failure = await cause(of: try await serve(opened), opened)
        } catch ClientFailure.unreadable {
            // Something other than the server may have answered, such as a hotel's login page. So this is retryable.
            // This failure is logged, so it leaves out the details, which may contain parts of the packet.
            failure = .offline("the server's packet cannot be understood")
        } catch let known as ClientFailure {
            failure = known
        } catch {
            failure = .offline(because: error)
        }
        await lose(link, failure)
        return (failure, wasConnected)
    }

    /// Delivers what the connection receives.
    ///
    /// - Returns: the failure if the server does not want this client to reconnect.
    /// - Throws: the failure that ended the connection; `CancellationError` if it was given up.
    private func serve(_ link: SocketLink) async throws -> ClientFailure {
        self.link = link
        // This connection fulfils an earlier `reconnectNow`. After the next loss there is a pause again.
        skipsPause = false
        awaitsSync = true
        await queue.add(.connected)
        // If the socket was stopped meanwhile, and perhaps started again, `rooms` belongs to another connection.
        guard link === self.link else { throw CancellationError() }
        let syncTimeout = Task { await awaitSync(of: link) }
        defer { syncTimeout.cancel() }
        rooms.forgetConnection()
        joinRooms(over: link)
        while true {
            let incoming = try await link.next()
            // This connection was given up. The next one gets these events again.
            guard link === self.link else { throw CancellationError() }
            switch incoming {
            case .dismissed:
                return SocketLink.dismissal
            case .event("sync:done", let data): await take(try ServerDecoder().decode(SyncDone.self, from: data))
            case .event(let name, let data):
                syncWait.noteEvent(at: clock.now)
                await queue.add(.event(RoomEvent.decode(name: name, data: data)))
            }
        }
    }

    private func take(_ done: SyncDone) async {
        awaitsSync = false
        // All earlier updates are in the queue, which outlives the connection. So the cursor may advance.
        cursor = done.cursor
        connectionCursor = done.cursor
        await queue.add(.recovered(done.recovered), cursor: done.cursor)
    }

    /// Reports `recovered(false)` if the server does not send `sync:done` in time.
    private func awaitSync(of link: SocketLink) async {
        syncWait = SyncWait(since: clock.now)
        repeat {
            // The end of the connection cancels the sleep.
            guard (try? await clock.sleep(for: SyncWait.timeout)) != nil else { return }
            guard awaitsSync, link === self.link else { return }
        } while !syncWait.isOver(at: clock.now)
        awaitsSync = false
        await queue.add(.recovered(false))
    }

    /// Ends a connection. Its requests fail as with any lost connection: none of them was refused.
    private func lose(_ link: SocketLink?, _ failure: ClientFailure) async {
        guard let link else { return }
        if self.link === link { self.link = nil }
        await link.close(failure.isRetryable ? failure : .offline("the server has ended the connection"))
    }

    /// Ends a dismissed connection, and finds out why it was dismissed, which the server does not say.
    ///
    /// - Returns: `signedOut` if the session has ended; otherwise the dismissal.
    private func cause(of dismissal: ClientFailure, _ link: SocketLink) async -> ClientFailure {
        startsAgain = false
        await lose(link, dismissal)
        return await opening.isSignedOut() ? .signedOut : dismissal
    }
}
