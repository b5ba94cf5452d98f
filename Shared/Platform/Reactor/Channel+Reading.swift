extension Channel: PollSource {
    /// Stops receiving until `resumeReading`, so that TCP holds the peer back. Meanwhile a close by the peer is
    /// not noticed, but a reset is.
    public func pauseReading() {
        loop.preconditionCurrent()
        isReadingPaused = true
        watch()
    }

    public func resumeReading() {
        loop.preconditionCurrent()
        isReadingPaused = false
        watch()
    }

    /// Limits the bytes that are received in a turn. The rest stays with the kernel, and TCP holds the peer back. Takes
    /// effect with the next read.
    public func receive(atMost limit: Int) {
        loop.preconditionCurrent()
        receiveLimit = limit
    }

    /// True if epoll should report input. After `close()`, input is read only to drop it, and to notice the peer's
    /// FIN.
    private var wantsInput: Bool {
        switch state {
        case .open: !peerFinished && !isReadingPaused
        case .closing, .lingering: !peerFinished && !dropped.hasBreak
        case .ended: false
        }
    }

    /// Updates epoll to the events that the state needs.
    func watch() {
        guard state != .ended else { return }
        var wanted: PollEvents = []
        if wantsInput { wanted.insert(.input) }
        if output.isBlocked { wanted.insert(.output) }
        do throws(SystemError) {
            try pollWatch.update(to: wanted, socket, for: self, in: loop.poller)
        } catch {
            closeDescriptor(.failed(error))
        }
    }

    func unwatch() { pollWatch.end(socket, for: self, in: loop.poller) }

    func ready(_ events: PollEvents) {
        if events.contains(.output), output.isBlocked {
            output.unblock()
            flush()
            watch()
        }
        if wantsInput, !events.isDisjoint(with: [.input, .error, .hangUp]) {
            receive()
        } else if events.contains(.error) {
            closeDescriptor(.failed(socket.takeError() ?? SystemError("poll", code: 0)))
        } else if events.contains(.hangUp) {
            hangUp()
        }
    }

    /// Handles a hang-up, when both directions are shut: epoll would report it again and again.
    private func hangUp() {
        // Reading is paused, and input from before the end is still to be received; or the peer has not taken everything.
        let isAwaited = state == .closing && socket.unacknowledgedBytes > 0
        if peerFinished, !isAwaited { return closeDescriptor(.peerClosed) }
        pollWatch.park(socket, for: self, in: loop.poller)
    }

    /// Reads once: a connection that has more input is reported again in the next turn, after the others.
    private func receive() {
        loop.counters.reads.increment()
        let transfer =
            state == .open
            ? socket.receive(into: UnsafeMutableRawBufferPointer(rebasing: loop.readBuffer.prefix(receiveLimit)))
            : socket.discard(atMost: DroppedInput.portion)
        switch transfer {
        case .bytes(0):
            peerFinished = true
            switch state {
            case .open:
                watch()
                owner?.channelPeerDidFinish(self)
            case .closing: watch()
            case .lingering: closeDescriptor(.closed)
            case .ended: break
            }
        case .bytes(let count):
            loop.counters.bytesRead.increment(by: count)
            if state == .open { handOver(count) } else { noteDropped(count) }
        case .wouldBlock: break
        case .failed(let error): closeDescriptor(.failed(error))
        }
    }

    private func noteDropped(_ count: Int) {
        guard dropped.add(count) else { return closeDescriptor(.closed) }
        watch()
        loop.schedule(after: DroppedInput.breakTime) { [weak self] in
            self?.dropped.hasBreak = false
            self?.watch()
        }
    }

    /// Passes the bytes in the loop's buffer to the handler.
    private func handOver(_ count: Int) {
        owner?.channel(self, received: UnsafeRawBufferPointer(start: loop.readBuffer.baseAddress, count: count))
    }

    /// Passes bytes to the handler as if they had just arrived.
    func deliver(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while state == .open, !rest.isEmpty {
            let part = rest.prefix(loop.readBuffer.count)
            rest = rest.dropFirst(part.count)
            loop.readBuffer.copyBytes(from: part)
            handOver(part.count)
        }
    }

    func loopWillStop() {
        // Write what the kernel takes at once, with FIN after it.
        if state == .open || state == .closing { flush() }
        // Unread input would turn the close into a reset.
        if state != .ended { _ = socket.discard(atMost: DroppedInput.portion) }
        closeDescriptor(.loopStopped)
    }
}

/// The limit of input after `close()`, which allows the rest of a refused request, but no flood.
struct DroppedInput {
    /// The bytes after which the connection is closed.
    private static let maxBytes = 16 << 20
    /// The bytes that are dropped in one read, with a break after it. Meanwhile TCP holds a flood back,
    /// whether it consists of large or small pieces.
    static let portion = 64 << 10
    static let breakTime: Duration = .milliseconds(10)

    private var bytes = 0
    var hasBreak = false

    /// - Returns: false if the limit is exceeded.
    mutating func add(_ count: Int) -> Bool {
        bytes += count
        hasBreak = bytes <= Self.maxBytes
        return hasBreak
    }
}
