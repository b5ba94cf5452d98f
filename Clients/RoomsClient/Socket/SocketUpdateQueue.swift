/// Passes updates from the reader of a socket to the handler, in order.
///
/// It holds `capacity` updates. A reader that is further ahead waits, so that TCP slows the server
/// down. Acks and pings do not pass here. They wait for the handler only if the queue is full,
/// behind the updates that arrived with them.
///
/// An update gets its position at once, without waiting for a turn: the order is that of the
/// socket's states.
final class SocketUpdateQueue: Sendable {
    /// The size of a replay's page, so that a replay does not wait for every event.
    static let capacity = 512

    private struct State {
        var updates: [SocketUpdate] = []
        var taker: CheckedContinuation<SocketUpdate?, Never>?
        var givers: [CheckedContinuation<Void, Never>] = []
        var isFinished = false

        var isFull: Bool { updates.count > SocketUpdateQueue.capacity && !isFinished }

        /// - Returns: who may give more, and what is taken: nothing, if there will be some, and then `taker` waits.
        mutating func take(
            for taker: CheckedContinuation<SocketUpdate?, Never>
        ) -> (giver: CheckedContinuation<Void, Never>?, taken: Taken?) {
            if !updates.isEmpty {
                let giver = givers.isEmpty ? nil : givers.removeFirst()
                return (giver, Taken(update: updates.removeFirst()))
            }
            if isFinished { return (nil, Taken(update: nil)) }
            self.taker = taker
            return (nil, nil)
        }
    }

    private struct Taken {
        /// The update; nil at the end.
        let update: SocketUpdate?
    }

    private let state = Guarded(State())

    /// Adds an update, and returns once there is room for more. Updates after `finish` are dropped.
    func add(_ update: SocketUpdate) async {
        put(update)
        while isFull {
            await withCheckedContinuation { giver in
                let waits = state.withLock { state in
                    guard state.isFull else { return false }
                    state.givers.append(giver)
                    return true
                }
                if !waits { giver.resume() }
            }
        }
    }

    private var isFull: Bool { state.withLock { $0.isFull } }

    /// Adds an update without waiting: for the few that do not come from the connection.
    func put(_ update: SocketUpdate) {
        let taker = state.withLock { state -> CheckedContinuation<SocketUpdate?, Never>? in
            if state.isFinished { return nil }
            if let taker = state.taker {
                state.taker = nil
                return taker
            }
            state.updates.append(update)
            return nil
        }
        taker?.resume(returning: update)
    }

    /// Returns the next update; nil when the queue is finished and empty. One caller at a time.
    func next() async -> SocketUpdate? {
        await withCheckedContinuation { taker in
            let (giver, taken) = state.withLock { $0.take(for: taker) }
            giver?.resume()
            if let taken { taker.resume(returning: taken.update) }
        }
    }

    func finish() {
        let (taker, givers) = state.withLock { state in
            defer { (state.isFinished, state.taker, state.givers) = (true, nil, []) }
            return (state.taker, state.givers)
        }
        taker?.resume(returning: nil)
        for giver in givers { giver.resume() }
    }
}
