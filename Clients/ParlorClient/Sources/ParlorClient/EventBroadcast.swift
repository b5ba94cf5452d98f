/// Sends each event to every stream that an app has opened.
final class EventBroadcast: Sendable {
    private struct State: Sendable {
        var continuations: [Int: AsyncStream<RoomEvent>.Continuation] = [:]
        var last = 0
    }

    private let state = Guarded(State())

    /// Returns a new stream of the events that are sent from now on.
    ///
    /// It buffers up to `limit` unread events, or one if `limit` is lower. Beyond that, the oldest are dropped. The
    /// stream ends with this object.
    func stream(bufferingNewest limit: Int) -> AsyncStream<RoomEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: RoomEvent.self, bufferingPolicy: .bufferingNewest(max(1, limit)))
        let id = state.withLock { state in
            state.last += 1
            state.continuations[state.last] = continuation
            return state.last
        }
        continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.continuations[id] = nil } }
        return stream
    }

    func send(_ event: RoomEvent) {
        for continuation in state.withLock({ Array($0.continuations.values) }) { continuation.yield(event) }
    }

    deinit { for continuation in state.withLock({ Array($0.continuations.values) }) { continuation.finish() } }
}
