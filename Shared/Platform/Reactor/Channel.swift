import Glibc

/// A TCP connection, on one event loop.
///
/// Output is combined: the bytes written during a turn go to the kernel at its end, in one call for each
/// connection. An idle connection holds no buffer.
///
/// A reference may be passed to any thread. Every public member except `loop` and `peer` checks that it is
/// called on the loop, which makes this class safe to share.
public final class Channel: @unchecked Sendable {
    /// The time that `close()` waits for a peer that takes none of the unsent output.
    public static let closeTimeout: Duration = .seconds(10)
    /// The time that it then waits for one that takes nothing of what the kernel holds.
    private static let kernelTimeout: Duration = .seconds(30)
    /// The time for which the peer's input is read and dropped after our last byte. Closing at once would answer
    /// such input with a reset, which may destroy our last bytes before the peer reads them (RFC 1122, section
    /// 4.2.2.13).
    static let lingerTimeout: Duration = .seconds(2)
    /// The first and the longest time after which a closing connection looks whether the peer has taken everything.
    private static let firstLook: Duration = .milliseconds(20)
    private static let lastLook: Duration = .milliseconds(320)

    /// The limit of lingering connections of a loop. Their handlers were notified that they are closed, so no
    /// limit of a handler counts them any more. Without this one, peers that keep closed connections open would
    /// use up the descriptors.
    public static let maxLingering = 64

    enum State {
        case open
        /// `close()` was called; output is pending.
        case closing
        /// FIN is sent and the handler notified; later input is dropped.
        case lingering
        /// The descriptor is closed, or belongs to a `DetachedConnection`.
        case ended
    }

    // A delivery uses the members down to `owner`. They come first, so that they lie in two cache lines: with thousands of
    // connections each line is fetched from memory.
    public let loop: EventLoop
    let socket: Socket
    var state = State.open
    var isFlushQueued = false
    /// Unchecked: accesses are single calls of `ChannelOutput` that call nothing back, and the checks cost 3 % of a
    /// delivery.
    @exclusivity(unchecked) var output = ChannelOutput()
    var owner: (any ChannelHandler)?
    /// Output waits while this gate is closed; nil for none.
    var outputGate: OutputGate?
    /// True while it is in the loop's list of channels whose gate was closed.
    var awaitsGate = false

    public let peer: PeerAddress
    var pollWatch = PollWatch()
    var isReadingPaused = false
    var receiveLimit = Int.max
    var peerFinished = false
    var closeReason: CloseReason?
    var closeTimer: LoopTimer?
    var dropped = DroppedInput()

    /// Takes ownership of the socket. `start` registers it.
    init(_ socket: Socket, peer: PeerAddress, loop: EventLoop) {
        self.socket = socket
        self.peer = peer
        self.loop = loop
    }

    /// The receiver of the channel's events. It may be replaced at any time, for example after a protocol
    /// upgrade. nil once the channel has closed.
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
        return state == .open
    }

    /// Starts to receive. If epoll rejects the socket, the socket is closed and the handler notified.
    func start(_ handler: any ChannelHandler) {
        loop.counters.opened.increment()
        owner = handler
        watch()
    }

    // MARK: - Closing

    /// Writes the unsent output, sends FIN, and closes once the peer has taken all of it. Nothing is received any more.
    public func close() {
        loop.preconditionCurrent()
        guard state == .open else { return }
        state = .closing
        if output.queue.isEmpty { return finishOutput() }
        if output.isBlocked { awaitClosing() }
        watch()
    }

    /// Closes at once: the unsent output is dropped and the peer gets a reset.
    public func abort() { abort(.aborted) }

    func abort(_ reason: CloseReason) {
        loop.preconditionCurrent()
        guard state != .ended else { return }
        socket.resetOnClose()
        closeDescriptor(reason)
    }

    /// Ends the output, which the kernel has taken completely.
    func finishOutput() {
        let held = socket.unacknowledgedBytes
        if held > 0 {
            // The peer may wait for it. Of a peer that has finished, nothing more would be heard.
            if !peerFinished { socket.shutdownOutput() }
            awaitClosing(within: Self.kernelTimeout)
            return awaitPeer(holding: held, for: Self.firstLook)
        }
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

    /// Waits for the peer to take what the kernel holds, and then ends the output. The handler counts the connection
    /// meanwhile. The kernel keeps the bytes of a closed connection for as long as the peer likes, and no limit counts them.
    private func awaitPeer(holding held: Int, for time: Duration) {
        loop.schedule(after: time) { [weak self] in
            guard let self, state == .closing else { return }
            let left = socket.unacknowledgedBytes
            if left == 0 { return finishOutput() }
            if left < held { awaitClosing(within: Self.kernelTimeout) }
            awaitPeer(holding: left, for: min(time * 2, Self.lastLook))
        }
    }

    func closeDescriptor(_ reason: CloseReason) {
        guard state != .ended else { return }
        if state == .lingering { loop.lingeringChannels -= 1 }
        state = .ended
        unwatch()
        socket.close()
        output.removeAll()
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

    /// Takes the connection off its loop, with the unsent output; `EventLoop.attach` continues it.
    ///
    /// The handler gets no more events. The caller passes on input that was received and not used. Returns
    /// nil if the channel is closed or closing.
    public func detach() -> DetachedConnection? {
        loop.preconditionCurrent()
        guard state == .open else { return nil }
        state = .ended
        unwatch()
        owner = nil
        loop.counters.closed.increment()
        return DetachedConnection(socket: socket, peer: peer, output: output.take(loop.turnOutput.buffer))
    }
}
