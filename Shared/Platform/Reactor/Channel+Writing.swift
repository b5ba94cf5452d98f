extension Channel {
    /// Queues bytes by reference. They are written at the end of the turn, together with the turn's other
    /// output.
    ///
    /// A broadcast writes the same array to many channels, at a few nanoseconds each. There is no limit here:
    /// the caller has to check `unsentCost`. After `close()` bytes are dropped.
    public func write(_ bytes: [UInt8]) {
        loop.preconditionCurrent()
        guard state == .open, !bytes.isEmpty else { return }
        output.append(bytes, &loop.turnOutput)
        guard !isFlushQueued, !output.isBlocked else { return }
        isFlushQueued = true
        loop.flushAtEndOfTurn(self)
    }

    /// Bounds what the kernel holds for a peer that does not read: the bytes that it takes before it can send them, and the
    /// time for which it keeps them. Without a bound it takes some 4 MB for each
    /// connection, and keeps them as long as the peer stays (`TCP_NOTSENT_LOWAT` and `TCP_USER_TIMEOUT`, tcp(7)).
    public func boundUnread(bytes: Int, for time: Duration) {
        socket.boundUnread(bytes: Int32(clamping: bytes), milliseconds: Int32(clamping: time.components.seconds * 1000))
    }

    /// Lets output wait while a gate is closed.
    public func setOutputGate(_ gate: OutputGate?) {
        loop.preconditionCurrent()
        outputGate = gate
    }

    /// The number of queued bytes that the kernel has not taken.
    public var unsentBytes: Int {
        loop.preconditionCurrent()
        return output.queue.byteCount
    }

    /// The approximate memory of the queued output. Use it for limits: even the smallest piece has an overhead.
    public var unsentCost: Int {
        loop.preconditionCurrent()
        return output.queue.cost
    }

    /// True if the kernel takes no more for now, because the peer does not read.
    public var isStalled: Bool {
        loop.preconditionCurrent()
        return output.isBlocked
    }

    /// The instant since which the kernel has taken none of the unsent output, because the peer does not
    /// read; nil if output flows.
    public var stalledSince: LoopInstant? {
        loop.preconditionCurrent()
        return output.blockedSince
    }

    /// Writes the unsent output, as far as the kernel takes it. The end of each turn does so by itself.
    public func flush() {
        isFlushQueued = false
        guard state == .open || state == .closing, !output.isBlocked, !output.queue.isEmpty else { return }
        if let outputGate, !outputGate.isOpen {
            isFlushQueued = true
            output.hold(loop.turnOutput.buffer)
            if !awaitsGate { loop.hold(self) }
            return
        }
        switch output.send(to: socket, on: loop) {
        case .bytes: if state == .closing { finishOutput() } else { owner?.channelDidDrain(self) }
        case .wouldBlock:
            watch()
            if state == .closing { awaitClosing() }
            owner?.channelDidStall(self)
        case .failed(let error): closeDescriptor(.failed(error))
        }
    }

    /// Gives a closing connection this time, counted from its last progress.
    func awaitClosing(within timeout: Duration = Channel.closeTimeout) {
        if let closeTimer {
            closeTimer.rearm(after: timeout)
        } else {
            closeTimer = loop.schedule(after: timeout) { [self] in abort(.closeTimedOut) }
        }
    }
}
