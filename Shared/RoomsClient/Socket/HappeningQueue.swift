/// Hands happenings from the reader of a socket to the one who is told, in order.
///
/// Holds `capacity`: a reader that is further ahead waits, so that TCP holds the server back. Acks and pings do not pass here, and
/// wait for the one who is told only when it is full, behind what they came with.
actor HappeningQueue {
    /// A replay's page, so that one who catches up is not held up by every event.
    static let capacity = 512

    private var happenings: [SocketHappening] = []
    private var taker: CheckedContinuation<SocketHappening?, Never>?
    private var givers: [CheckedContinuation<Void, Never>] = []
    private var isFinished = false

    /// Returns once there is room for more. What comes after `finish` is dropped.
    func add(_ happening: SocketHappening) async {
        put(happening)
        while happenings.count > Self.capacity, !isFinished {
            await withCheckedContinuation { givers.append($0) }
        }
    }

    /// Without waiting: for those few that do not come from the connection.
    func put(_ happening: SocketHappening) {
        if isFinished { return }
        if let taker {
            self.taker = nil
            taker.resume(returning: happening)
        } else {
            happenings.append(happening)
        }
    }

    /// nil when it is finished and empty. One caller at a time.
    func next() async -> SocketHappening? {
        if !happenings.isEmpty {
            if !givers.isEmpty { givers.removeFirst().resume() }
            return happenings.removeFirst()
        }
        if isFinished { return nil }
        return await withCheckedContinuation { taker = $0 }
    }

    func finish() {
        isFinished = true
        taker?.resume(returning: nil)
        taker = nil
        for giver in givers { giver.resume() }
        givers = []
    }
}
