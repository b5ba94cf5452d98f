import Synchronization

/// Long answers that clients have not taken yet: so many bytes in all. Beyond that, whoever has left one unread for longest is cut off, so
/// that nobody else is refused for it.
final class UnreadAnswers: Sendable {
    /// An answer, until this is let go of: it was taken, or its connection has ended.
    final class Mark: Sendable {
        private let end: @Sendable () -> Void

        fileprivate init(end: @escaping @Sendable () -> Void) { self.end = end }

        deinit { end() }
    }

    private struct Answer: Sendable {
        let bytes: Int
        let cutOff: @Sendable () -> Void
    }

    private struct State {
        var answers: [Int: Answer] = [:]
        /// No answer that is kept has a lower number.
        var first = 0
        var last = 0
        var bytes = 0

        mutating func remove(_ id: Int) -> Answer? {
            guard let answer = answers.removeValue(forKey: id) else { return nil }
            bytes -= answer.bytes
            return answer
        }

        mutating func removeOldest() -> Answer? {
            while first < last {
                first += 1
                if let answer = remove(first) { return answer }
            }
            return nil
        }
    }

    /// A shorter one is not worth counting: what is kept of it is bounded by the connections.
    static let shortest = 64 * 1024

    private let maxBytes: Int
    private let state = Mutex(State())

    init(maxBytes: Int) { self.maxBytes = maxBytes }

    var bytes: Int { state.withLock { $0.bytes } }

    /// - Parameter cutOff: called on any thread, once at most; the answer may be taken by then.
    /// - Returns: nil for a short answer.
    func add(_ bytes: Int, cutOff: @escaping @Sendable () -> Void) -> Mark? {
        guard bytes >= Self.shortest else { return nil }
        let (id, old) = state.withLock { state in
            var old: [Answer] = []
            while state.bytes + bytes > maxBytes, let answer = state.removeOldest() { old.append(answer) }
            state.last += 1
            state.answers[state.last] = Answer(bytes: bytes, cutOff: cutOff)
            state.bytes += bytes
            return (state.last, old)
        }
        for answer in old { answer.cutOff() }
        return Mark { [weak self] in self?.remove(id) }
    }

    private func remove(_ id: Int) {
        // Let go of outside of the lock: it may be the last that holds a connection.
        _ = state.withLock { $0.remove(id) }
    }
}
