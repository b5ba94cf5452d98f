/// Passes updates from the reader of a socket to the handler, in order.
///
/// It holds `capacity` updates, besides those that the handler has taken. A reader that is ahead by more waits, so
/// that TCP slows the server down. Acks and pings do not go through the queue. They wait for the handler only if the
/// queue is full, because the reader then waits.
///
/// An update gets its place at once, even if its sender then waits for room. So updates are handled in the order in
/// which the socket's state changed.
final class SocketUpdateQueue: Sendable {
    struct Element: Sendable, Equatable {
        let update: SocketUpdate
        /// With `recovered`, the cursor of the connection; nil if the server has sent none.
        var cursor: String?
    }

    /// The limit is above the 500 entries of a page of the server's replay, so that the reader can usually add a whole
    /// page without waiting.
    static let capacity = 512

    private struct State {
        var updates: [Element] = []
        var taker: CheckedContinuation<[Element]?, Never>?
        var givers: [CheckedContinuation<Void, Never>] = []
        var isFinished = false

        var isFull: Bool { updates.count > SocketUpdateQueue.capacity && !isFinished }

        /// Takes all updates, or keeps `taker` for the next one.
        mutating func take(for taker: CheckedContinuation<[Element]?, Never>) -> Taken {
            defer { (updates, givers) = ([], []) }
            if !updates.isEmpty { return .updates(updates, givers) }
            if isFinished { return .end }
            self.taker = taker
            return .later
        }
    }

    private enum Taken {
        /// The updates, and the readers that may go on.
        case updates([Element], [CheckedContinuation<Void, Never>])
        case end
        case later
    }

    private let state = Guarded(State())

    /// Adds an update, and returns once there is room for more. Updates after `finish` are dropped.
    func add(_ update: SocketUpdate, cursor: String? = nil) async {
        put(update, cursor: cursor)
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

    /// Adds an update without waiting for room. Only for updates that do not come from the connection, which are few.
    func put(_ update: SocketUpdate, cursor: String? = nil) {
        let element = Element(update: update, cursor: cursor)
        let taker = state.withLock { state -> CheckedContinuation<[Element]?, Never>? in
            if state.isFinished { return nil }
            if let taker = state.taker {
                state.taker = nil
                return taker
            }
            state.updates.append(element)
            return nil
        }
        taker?.resume(returning: [element])
    }

    /// Waits for updates and returns all of them; nil when the queue is finished and empty. Only one task may call
    /// this at a time.
    func next() async -> [Element]? {
        await withCheckedContinuation { taker in
            switch state.withLock({ $0.take(for: taker) }) {
            case .updates(let updates, let givers):
                for giver in givers { giver.resume() }
                taker.resume(returning: updates)
            case .end: taker.resume(returning: nil)
            case .later: break
            }
        }
    }

    /// Ends the queue. Updates that were added before can still be taken.
    func finish() {
        let (taker, givers) = state.withLock { state in
            defer { (state.isFinished, state.taker, state.givers) = (true, nil, []) }
            return (state.taker, state.givers)
        }
        taker?.resume(returning: nil)
        for giver in givers { giver.resume() }
    }
}
