import Reactor
import Synchronization

/// Asks the owners of event logs where those end, once for all callers that wait at the time.
///
/// No caller gets an end that was read before it asked. So whatever was acknowledged to anybody, by any gateway, before that
/// stands at or before this end: the "read index" of Raft (section 6.4 of Ongaro's dissertation).
public final class ReadIndex: Sendable {
    public typealias Ends = [String: LogPosition]

    private struct Waiting: Sendable {
        let streams: [String]
        let continuation: CheckedContinuation<Ends, Never>
    }

    private struct State {
        var isAsking = false
        var waiting: [Waiting] = []
        /// No owner is asked until then.
        var pausedUntil = LoopInstant(nanoseconds: 0)
    }

    private let client: LogClient
    private let loop: EventLoop
    private let maxWait: Duration
    private let pause: Duration
    private let state = Mutex(State())

    /// - Parameters:
    ///   - loop: waits for the replies if the first caller of a round is on no loop, so no thread
    ///     has to wake up for them.
    ///   - maxWait: longer than a healthy reply takes. Composing a list again takes its own time as
    ///     well.
    ///   - pause: after an owner did not reply. For half of the time nobody waits for one that is
    ///     unavailable or overloaded.
    public init(
        _ client: LogClient, on loop: EventLoop, maxWait: Duration = .milliseconds(500),
        pause: Duration = .milliseconds(500)
    ) {
        self.client = client
        self.loop = loop
        self.maxWait = maxWait
        self.pause = pause
    }

    /// - Returns: where each of these logs ends; without those whose owner does not answer.
    public func ends(of streams: [String]) async -> Ends {
        await withCheckedContinuation { continuation in
            let isFirst = state.withLock { state in
                defer { state.isAsking = true }
                state.waiting.append(Waiting(streams: streams, continuation: continuation))
                return !state.isAsking
            }
            if isFirst { Task(executorPreference: EventLoop.current ?? loop) { [self] in await answerAll() } }
        }
    }

    /// Callers that come during a round are answered by the next one.
    private func answerAll() async {
        while case let round = nextRound(), !round.isEmpty {
            let ends = await ends(of: Set(round.lazy.flatMap(\.streams)))
            for waiting in round { waiting.continuation.resume(returning: ends) }
        }
    }

    private func ends(of streams: Set<String>) async -> Ends {
        guard state.withLock({ $0.pausedUntil <= .now() }) else { return [:] }
        let ends = await client.heads(of: streams.sorted(), within: maxWait)
        if ends.count < streams.count { state.withLock { $0.pausedUntil = .now() + pause } }
        return ends
    }

    private func nextRound() -> [Waiting] {
        state.withLock { state in
            defer { state.waiting = [] }
            state.isAsking = !state.waiting.isEmpty
            return state.waiting
        }
    }
}
