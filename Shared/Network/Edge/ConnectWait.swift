import ParlorReactor

/// A socket's wait for its client's CONNECT. During the wait its limits are low, and a new client may evict it.
struct ConnectWait {
    private(set) var isOn = false
    /// The time at which it began.
    private(set) var since = LoopInstant(nanoseconds: 0)
    private var messages = 0
    private var timer: LoopTimer?

    /// - Parameter end: called after the time limit, unless the wait has ended.
    mutating func begin(on loop: EventLoop, for timeLimit: Duration?, then end: @escaping () -> Void) {
        (isOn, since, messages) = (true, loop.now, 0)
        timer = timeLimit.map { loop.schedule(after: $0, end) }
    }

    mutating func end() {
        timer?.cancel()
        (isOn, timer) = (false, nil)
    }

    /// Counts a message of the client.
    ///
    /// - Returns: true if the message may be taken. After the wait, any number may.
    mutating func admitMessage(atMost limit: Int) -> Bool {
        if isOn { messages += 1 }
        return !isOn || messages <= limit
    }
}
