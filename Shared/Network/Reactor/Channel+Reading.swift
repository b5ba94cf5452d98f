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

    /// In the later states what comes is read to be dropped, and to see the peer's end.
    private var wantsInput: Bool {
        switch state {
        case .open: !peerFinished && !isReadingPaused
        case .closing, .lingering: !peerFinished && !hasDropBreak
        case .ended: false
        }
    }

    /// Brings epoll in line with what is wanted.
    func watch() {
        guard state != .ended else { return }
        var wanted: PollEvents = []
        if wantsInput { wanted.insert(.input) }
        if isBlocked { wanted.insert(.output) }
        if let token {
            guard wanted != interest else { return }
            loop.poller.modify(socket, token, to: wanted)
        } else {
            do throws(SystemError) {
                token = try loop.poller.add(socket, for: wanted, source: self)
                loop.poller.unpark(self)
            } catch {
                return closeDescriptor(.failed(error))
            }
        }
        interest = wanted
    }

    func unwatch() {
        if let token { loop.poller.remove(socket, token) } else { loop.poller.unpark(self) }
        token = nil
    }

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
        if peerFinished {
            closeDescriptor(.peerClosed)
        } else if let token {
            // Reading is paused, and what came before the end is still to be received.
            loop.poller.remove(socket, token)
            loop.poller.park(self)
            self.token = nil
        }
    }

    /// One read a turn: a connection that has more is reported again, after the others.
    private func receive() {
        loop.counters.reads.increment()
        let transfer =
            state == .open ? socket.receive(into: loop.readBuffer) : socket.discard(atMost: Self.droppedPortion)
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
        droppedBytes += count
        if droppedBytes > Self.maxDroppedBytes { return closeDescriptor(.closed) }
        hasDropBreak = true
        watch()
        loop.schedule(after: Self.dropBreak) { [weak self] in
            self?.hasDropBreak = false
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
        if state != .ended { _ = socket.discard(atMost: Self.droppedPortion) }
        closeDescriptor(.loopStopped)
    }
}
