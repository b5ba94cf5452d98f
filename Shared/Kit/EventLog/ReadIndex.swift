import Reactor
import Synchronization

/// Reads the ends of event logs from their owners, once for all callers that wait at the time.
///
/// No caller gets an end that was read before its call. So everything that any gateway acknowledged before is
/// included in this end. This is Raft's "read index" (section 6.4 of Ongaro's dissertation).
public final class ReadIndex: Sendable {
    public typealias Ends = [String: LogPosition]

    private struct Waiting: Sendable {
        let streams: [String]
        let continuation: CheckedContinuation<Ends, Never>
    }

    private struct State {
        var isAsking = false
        var waiting: [Waiting] = []
        /// The time until which no owner is asked.
        var pausedUntil = LoopInstant(nanoseconds: 0)
    }

    private let client: LogClient
    private let loop: EventLoop
    private let maxWait: Duration
    private let pause: Duration
    private let state = Mutex(State())

    /// - Parameters:
    ///   - loop: runs the requests if the first caller is on no loop, so that no other thread has to be woken for the
    ///     replies.
    ///   - maxWait: the limit of the wait: longer than a healthy reply takes. If it passes, the caller does not use its
    ///     cache and composes again, which takes time too.
    ///   - pause: the time for which no owner is asked after one has not replied. If it equals `maxWait`, an owner that
    ///     is away or overloaded delays callers for at most half of the time.
    public init(
        _ client: LogClient, on loop: EventLoop, maxWait: Duration = .milliseconds(500),
        pause: Duration = .milliseconds(500)
    ) {
        self.client = client
        self.loop = loop
        self.maxWait = maxWait
        self.pause = pause
    }

    /// Requests the ends of logs from their owners.
    ///
    /// - Returns: the ends of at least these logs, without those whose owner did not reply; none during the pause after
    ///   a missing reply.
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

    /// Answers the waiting callers in rounds. Callers that arrive during a round are answered by the next
    /// one.
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
