import Glibc

/// One TCP connection, on one event loop.
///
/// Output is joined: what is written during a turn goes to the kernel at its end, in one call for a connection. An idle
/// connection holds no buffer.
///
/// A reference may go anywhere; every member but `loop` and `peer` checks that it is called on the loop, which makes this
/// safe to share.
public final class Channel: @unchecked Sendable {
    /// The time that `close()` waits for a peer that takes none of the pending output.
    public static let closeTimeout: Duration = .seconds(10)
    /// The time for which the peer's last bytes are read and dropped after ours. Closing before
    /// that would answer them with a reset, which may destroy our last bytes before they are read
    /// (RFC 1122, section 4.2.2.13).
    static let lingerTimeout: Duration = .seconds(2)

    /// Connections of a loop that linger at a time. They are closed for their handlers, whose limits no longer count them: without an
    /// end, peers that are hung up on and stay would use up the descriptors.
    public static let maxLingering = 64

    enum State {
        case open
        /// `close()` was called; output is pending.
        case closing
        /// FIN is sent and the handler notified; later input is dropped.
        case lingering
        /// The descriptor is closed, or has gone to a `DetachedConnection`.
        case ended
    }

    // A delivery touches the members down to `lastProgress`: they come first, to lie in two cache lines, for with thousands
    // of connections each line is fetched from memory.
    public let loop: EventLoop
    let socket: Socket
    var state = State.open
    var isOutputShutDown = false
    /// The kernel took only a part; epoll reports when it takes more.
    var isBlocked = false
    var isFlushQueued = false
    /// Unchecked: accesses are single calls of `OutputQueue` that call nothing back, and the checks cost 3 % of a delivery.
    @exclusivity(unchecked) var output = OutputQueue()
    var owner: (any ChannelHandler)?
    var lastProgress = LoopInstant(nanoseconds: 0)

    public let peer: PeerAddress
    var pollWatch = PollWatch()
    var isReadingPaused = false
    var receiveLimit = Int.max
    var peerFinished = false
    var closeReason: CloseReason?
    var closeTimer: LoopTimer?
    var dropped = DroppedInput()

    /// Takes the socket over. `start` registers it.
    init(_ socket: Socket, peer: PeerAddress, loop: EventLoop) {
        self.socket = socket
        self.peer = peer
        self.loop = loop
    }

    /// Receives the channel's events. A protocol's successor may replace it at any time; nil once
    /// the channel has closed.
    public var handler: (any ChannelHandler)? {
        get {
            loop.preconditionCurrent()
            return owner
        }
        set {
            loop.preconditionCurrent()
            if closeReason == nil, state != .ended { owner = newValue }
        }
    }

    /// True if `write` still has an effect.
    public var isOpen: Bool {
        loop.preconditionCurrent()
        return state == .open && !isOutputShutDown
    }

    /// Starts to receive. If epoll rejects the socket, it is closed and the handler notified.
    func start(_ handler: any ChannelHandler) {
        loop.counters.opened.increment()
        owner = handler
        watch()
    }

    // MARK: - Closing

    /// Writes what is pending, says FIN and closes. Nothing is received any more.
    public func close() {
        loop.preconditionCurrent()
        guard state == .open else { return }
        state = .closing
        if output.isEmpty { return finishOutput() }
        if isBlocked { awaitClosing() }
        watch()
    }

    /// Closes at once: what is pending is dropped and the peer gets a reset.
    public func abort() { abort(.aborted) }

    func abort(_ reason: CloseReason) {
        loop.preconditionCurrent()
        guard state != .ended else { return }
        socket.resetOnClose()
        closeDescriptor(reason)
    }

    /// Says FIN after what is pending, and goes on receiving.
    public func shutdownOutput() {
        loop.preconditionCurrent()
        guard state == .open, !isOutputShutDown else { return }
        isOutputShutDown = true
        if output.isEmpty { socket.shutdownOutput() }
    }

    /// All is written.
    func finishOutput() {
        guard !peerFinished else { return closeDescriptor(.peerClosed) }
        guard loop.lingeringChannels < Self.maxLingering else {
            // Unread input would turn the close into a reset.
            _ = socket.discard(atMost: DroppedInput.portion)
            return closeDescriptor(.closed)
        }
        loop.lingeringChannels += 1
        state = .lingering
        socket.shutdownOutput()
        notice(.closed)
        closeTimer?.cancel()
        closeTimer = loop.schedule(after: Self.lingerTimeout) { [self] in closeDescriptor(.closed) }
        watch()
    }

    func closeDescriptor(_ reason: CloseReason) {
        guard state != .ended else { return }
        if state == .lingering { loop.lingeringChannels -= 1 }
        state = .ended
        unwatch()
        socket.close()
        output = OutputQueue()
        closeTimer?.cancel()
        closeTimer = nil
        loop.counters.closed.increment()
        notice(reason)
    }

    /// Notes the reason for closing; the first one is reported.
    private func notice(_ reason: CloseReason) {
        guard closeReason == nil else { return }
        closeReason = reason
        loop.noticeCloseAtEndOfTurn(self)
    }

    func noticeClose() {
        guard let handler = owner, let reason = closeReason else { return }
        owner = nil
        handler.channelDidClose(self, reason: reason)
    }

    // MARK: - Moving

    /// Takes the connection off its loop, with the pending output; `EventLoop.attach` continues it.
    ///
    /// The handler gets no further events. Input that it has received and not used is the caller's
    /// to pass on. nil if the channel is closed or closing.
    public func detach() -> DetachedConnection? {
        loop.preconditionCurrent()
        guard state == .open, !isOutputShutDown else { return nil }
        state = .ended
        unwatch()
        owner = nil
        loop.counters.closed.increment()
        var pending = output
        pending.settle(loop.turnOutput.buffer)
        output = OutputQueue()
        return DetachedConnection(socket: socket, peer: peer, output: pending)
    }
}
