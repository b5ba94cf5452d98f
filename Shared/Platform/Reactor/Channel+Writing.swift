extension Channel {
    /// Queues bytes by reference. They are written at the end of the turn, together with the turn's other
    /// output.
    ///
    /// A broadcast writes the same array to many channels, at a few nanoseconds each. There is no limit here:
    /// the caller has to check `pendingCost`. After `close()` bytes are dropped.
    public func write(_ bytes: [UInt8]) {
        loop.preconditionCurrent()
        guard state == .open, !isOutputShutDown, !bytes.isEmpty else { return }
        // A blocked channel keeps its output after this turn. That output must not refer to `TurnOutput`, which is
        // reused.
        if !isBlocked, let range = loop.turnOutput.range(of: bytes) {
            output.append(range, of: loop.turnOutput.buffer)
        } else {
            output.append(bytes, after: loop.turnOutput.buffer)
        }
        guard !isFlushQueued, !isBlocked else { return }
        isFlushQueued = true
        loop.flushAtEndOfTurn(self)
    }

    /// Bounds what the kernel holds for a peer that does not read: the bytes that it takes before it can send them, and the
    /// time for which it keeps them. Without a bound it takes some 4 MB for each
    /// connection, and keeps them as long as the peer stays (`TCP_NOTSENT_LOWAT` and `TCP_USER_TIMEOUT`, tcp(7)).
    public func boundUnread(bytes: Int, for time: Duration) {
        socket.boundUnread(bytes: Int32(clamping: bytes), milliseconds: Int32(clamping: time.components.seconds * 1000))
    }

    /// The number of queued bytes that the kernel has not taken.
    public var pendingBytes: Int {
        loop.preconditionCurrent()
        return output.byteCount
    }

    /// The approximate memory of the queued output. Use it for limits: even the smallest piece has an overhead.
    public var pendingCost: Int {
        loop.preconditionCurrent()
        return output.cost
    }

    /// True if the kernel takes no more for now, because the peer does not read.
    public var isStalled: Bool {
        loop.preconditionCurrent()
        return isBlocked
    }

    /// The instant since which the kernel has taken none of the pending output, because the peer does not
    /// read; nil if output flows.
    public var stalledSince: LoopInstant? {
        loop.preconditionCurrent()
        return isBlocked ? lastProgress : nil
    }

    /// Writes the pending output, as far as the kernel takes it. The end of each turn does so by itself.
    public func flush() {
        isFlushQueued = false
        guard state == .open || state == .closing, !isBlocked, !output.isEmpty else { return }
        // Move the queue out of the object during the work, so that no access to the member spans a call.
        var queue = OutputQueue()
        swap(&queue, &output)
        let outcome = send(&queue)
        swap(&queue, &output)
        switch outcome {
        case .bytes: drained()
        case .wouldBlock: block()
        case .failed(let error): closeDescriptor(.failed(error))
        }
    }

    /// Sends until the queue is empty, or the kernel takes no more.
    private func send(_ queue: inout OutputQueue) -> Socket.Transfer {
        while true {
            var offered = 0
            let transfer = queue.withNext(of: loop.turnOutput.buffer, joinedIn: loop.writeBuffer) { bytes in
                offered = bytes.count
                return socket.send(bytes)
            }
            loop.counters.writes.increment()
            guard case .bytes(let count) = transfer else { return transfer }
            loop.counters.bytesWritten.increment(by: count)
            lastProgress = loop.turnStart
            queue.consume(count)
            // A short count means that the kernel's buffer is full, so another call would be useless.
            if count < offered { return .wouldBlock }
            if queue.isEmpty { return transfer }
        }
    }

    private func block() {
        if lastProgress.nanoseconds == 0 { lastProgress = loop.turnStart }
        isBlocked = true
        output.settle(loop.turnOutput.buffer)
        watch()
        if state == .closing { awaitClosing() }
        owner?.channelDidStall(self)
    }

    private func drained() {
        lastProgress = LoopInstant(nanoseconds: 0)
        if state == .closing {
            finishOutput()
        } else {
            if isOutputShutDown { socket.shutdownOutput() }
            owner?.channelDidDrain(self)
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
