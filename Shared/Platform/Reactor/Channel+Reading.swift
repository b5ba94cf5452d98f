extension Channel: PollSource {
    /// Receives nothing more until `resumeReading`, so that TCP holds the peer back. A close by the peer goes unnoticed
    /// meanwhile, a reset does not.
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

    /// Receives so many bytes in a turn at most; the rest stays with the kernel, and TCP holds the peer back. From the next turn on.
    public func receive(atMost limit: Int) {
        loop.preconditionCurrent()
        receiveLimit = limit
    }

    /// In the later states what comes is read to be dropped, and to see the peer's end.
    private var wantsInput: Bool {
        switch state {
        case .open: !peerFinished && !isReadingPaused
        case .closing, .lingering: !peerFinished && !dropped.hasBreak
        case .ended: false
        }
    }

    /// Brings epoll in line with what is wanted.
    func watch() {
        guard state != .ended else { return }
        var wanted: PollEvents = []
        if wantsInput { wanted.insert(.input) }
        if isBlocked { wanted.insert(.output) }
        do throws(SystemError) {
            try pollWatch.update(to: wanted, socket, for: self, in: loop.poller)
        } catch {
            closeDescriptor(.failed(error))
        }
    }

    func unwatch() { pollWatch.end(socket, for: self, in: loop.poller) }

    func ready(_ events: PollEvents) {
        if events.contains(.output), isBlocked {
            isBlocked = false
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

    /// Both directions are shut, and nobody reads: epoll would report that for ever.
    private func hangUp() {
        if peerFinished { return closeDescriptor(.peerClosed) }
        // Reading is paused, and what came before the end is still to be received.
        pollWatch.park(socket, for: self, in: loop.poller)
    }

    /// One read a turn: a connection that has more is reported again, after the others.
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

    /// Gives the handler what lies in the loop's buffer.
    private func handOver(_ count: Int) {
        owner?.channel(self, received: UnsafeRawBufferPointer(start: loop.readBuffer.baseAddress, count: count))
    }

    /// Gives the handler bytes as if they had just arrived.
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
        // What the kernel takes at once is still written, and FIN after it.
        if state == .open || state == .closing { flush() }
        // Unread input would turn the close into a reset.
        if state != .ended { _ = socket.discard(atMost: DroppedInput.portion) }
        closeDescriptor(.loopStopped)
    }
}

/// Bounds the input after `close()`: the rest of a refused request, but no flood.
struct DroppedInput {
    /// Until it is hung up on.
    private static let maxBytes = 16 << 20
    /// It is dropped so much at a time at most, with a break after it: TCP holds a flood back meanwhile, of large pieces or of small ones.
    static let portion = 64 << 10
    static let breakTime: Duration = .milliseconds(10)

    private var bytes = 0
    var hasBreak = false

    /// - Returns: false if it is too much.
    mutating func add(_ count: Int) -> Bool {
        bytes += count
        hasBreak = bytes <= Self.maxBytes
        return hasBreak
    }
}
