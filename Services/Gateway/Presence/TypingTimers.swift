import ParlorReactor

/// The timer of each socket that types in a room. The timers stay on their loop.
struct TypingTimers {
    private var timers: [RoomMember: [String: LoopTimer]] = [:]

    /// Calls `end` when the socket has not renewed its typing for this time.
    mutating func start(
        _ member: RoomMember, socketID: String, after timeout: Duration, on loop: EventLoop, _ end: @escaping () -> Void
    ) {
        if let timer = timers[member]?[socketID] { return timer.rearm(after: timeout) }
        timers[member, default: [:]][socketID] = loop.schedule(after: timeout, end)
    }

    mutating func cancel(_ member: RoomMember, socketID: String) {
        timers[member]?.removeValue(forKey: socketID)?.cancel()
        if timers[member]?.isEmpty == true { timers[member] = nil }
    }
}
