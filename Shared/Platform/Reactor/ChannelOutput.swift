/// A channel's output: what is queued, and whether the kernel takes it.
struct ChannelOutput {
    private(set) var queue = OutputQueue()
    /// True if the kernel took only a part; epoll reports when it takes more. The queue then outlasts the turn, so it
    /// must not refer to `TurnOutput`, which is reused.
    private(set) var isBlocked = false
    /// True if a gate holds it, for longer than the turn as well.
    private var isHeld = false
    /// The time at which the kernel last took some of it, or did not take the first of it; 0 if nothing is left.
    private var lastProgress = LoopInstant(nanoseconds: 0)

    init(_ queue: OutputQueue = OutputQueue()) { self.queue = queue }

    /// The instant since which the kernel has taken nothing; nil if output flows.
    var blockedSince: LoopInstant? { isBlocked ? lastProgress : nil }

    @inline(__always) mutating func append(_ bytes: [UInt8], _ broadcasts: inout TurnOutput) {
        if !isBlocked, !isHeld, let range = broadcasts.range(of: bytes) {
            queue.append(range, of: broadcasts.buffer)
        } else {
            queue.append(bytes, after: broadcasts.buffer)
        }
    }

    /// Keeps what is queued for a later turn.
    mutating func hold(_ broadcasts: UnsafeMutableRawBufferPointer) {
        isHeld = true
        queue.settle(broadcasts)
    }

    /// Notes that the kernel takes more again.
    mutating func unblock() { isBlocked = false }

    /// Sends until nothing is left, or the kernel takes no more.
    ///
    /// - Returns: `bytes` if nothing is left.
    mutating func send(to socket: Socket, on loop: EventLoop) -> Socket.Transfer {
        isHeld = false
        while true {
            var offered = 0
            let transfer = queue.withNext(of: loop.turnOutput.buffer, joinedIn: loop.writeBuffer) { bytes in
                offered = bytes.count
                return socket.send(bytes)
            }
            loop.counters.writes.increment()
            switch transfer {
            case .bytes(let count):
                loop.counters.bytesWritten.increment(by: count)
                queue.consume(count)
                guard !queue.isEmpty else {
                    lastProgress = LoopInstant(nanoseconds: 0)
                    return transfer
                }
                lastProgress = loop.turnStart
                // A short count means that the kernel's buffer is full, so another call would be useless.
                if count == offered { continue }
            case .wouldBlock: break
            case .failed: return transfer
            }
            isBlocked = true
            if lastProgress.nanoseconds == 0 { lastProgress = loop.turnStart }
            queue.settle(loop.turnOutput.buffer)
            return .wouldBlock
        }
    }

    /// Drops what is queued.
    mutating func removeAll() { queue = OutputQueue() }

    /// Removes and returns what is queued, for another loop.
    mutating func take(_ broadcasts: UnsafeMutableRawBufferPointer) -> OutputQueue {
        queue.settle(broadcasts)
        defer { removeAll() }
        return queue
    }
}
