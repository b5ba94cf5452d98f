import ParlorReactor

/// The timer of each socket that types in a room. The timers stay on their loop.
struct TypingTimers {
    private struct Typist: Hashable {
        let userID: String
        let socketID: String
    }

    /// The timers by room.
    private var timers: [String: [Typist: LoopTimer]] = [:]

    /// Returns true if somebody types in the room.
    func areRunning(in roomID: String) -> Bool { timers[roomID] != nil }

    /// Calls `end` when the socket has not renewed its typing for this time.
    mutating func start(
        _ member: RoomMember, socketID: String, after timeout: Duration, on loop: EventLoop, _ end: @escaping () -> Void
    ) {
        let typist = Typist(userID: member.userID, socketID: socketID)
        if let timer = timers[member.roomID]?[typist] { return timer.rearm(after: timeout) }
        timers[member.roomID, default: [:]][typist] = loop.schedule(after: timeout, end)
    }

    mutating func cancel(_ member: RoomMember, socketID: String) {
        timers[member.roomID]?.removeValue(forKey: Typist(userID: member.userID, socketID: socketID))?.cancel()
        if timers[member.roomID]?.isEmpty == true { timers[member.roomID] = nil }
    }
}
