extension Channel {
    /// Queues bytes by reference. They are written at the end of the turn, together with the turn's
    /// other output.
    ///
    /// A broadcast writes the same array to one channel after the other, at a few nanoseconds each.
    /// There is no limit here: the caller checks `pendingCost` and decides. After `close()` they
    /// are dropped.
    public func write(_ bytes: [UInt8]) {
        loop.preconditionCurrent()
        guard state == .open, !isOutputShutDown, !bytes.isEmpty else { return }
        // What is not written in this turn must not refer to the turn's broadcasts.
        if !isBlocked, let range = loop.turnOutput.range(of: bytes) {
            output.append(range, of: loop.turnOutput.buffer)
        } else {
            output.append(bytes, after: loop.turnOutput.buffer)
        }
        guard !isFlushQueued, !isBlocked else { return }
        isFlushQueued = true
        loop.flushAtEndOfTurn(self)
    }

    /// The bytes that the kernel has not taken.
    public var pendingBytes: Int {
        loop.preconditionCurrent()
        return output.byteCount
    }

    /// The memory that this takes, about: each piece costs some bytes of its own, however small it is. What limits are about.
    public var pendingCost: Int {
        loop.preconditionCurrent()
        return output.cost
    }

    /// True if the kernel takes no more for now, because the peer does not read.
    public var isStalled: Bool {
        loop.preconditionCurrent()
        return isBlocked
    }

    /// Since when the kernel has taken nothing of what is pending, because the peer does not read; nil if all goes well.
    public var stalledSince: LoopInstant? {
        loop.preconditionCurrent()
        return isBlocked ? lastProgress : nil
    }

    /// Writes what is pending, as far as the kernel takes it.
    func flush() {
        isFlushQueued = false
        guard state == .open || state == .closing, !isBlocked, !output.isEmpty else { return }
        // Out of the object while it is worked on, so that no access to it spans a call.
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

    /// Until the queue is empty, or the kernel takes no more.
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
            // A short count says that the kernel is full: asking again would only be told so.
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

    /// Gives a closing connection `closeTimeout` from its last progress on.
    func awaitClosing() {
        if let closeTimer {
            closeTimer.rearm(after: Self.closeTimeout)
        } else {
            closeTimer = loop.schedule(after: Self.closeTimeout) { [self] in abort(.closeTimedOut) }
        }
    }
}
