import ParlorContracts
import ParlorReactor
import Synchronization

/// Requests the heads of event logs from their owners, with one request to each for all callers that wait at the time.
///
/// No caller gets a head that was read before its call. So the head includes everything that any gateway acknowledged
/// before the call. This is Raft's "read index" (section 6.4 of Ongaro's dissertation).
public final class ReadIndex: Sendable {
    public typealias Heads = [LogID: LogPosition]

    private struct Waiting: Sendable {
        let logs: [LogID]
        let continuation: CheckedContinuation<Heads, Never>
    }

    private struct State {
        var isAsking = false
        var waiting: [Waiting] = []
        /// The logs whose owners did not reply the last time.
        var silent: [LogID: Silence] = [:]
    }

    /// An owner that did not reply.
    private struct Silence {
        /// The time until which it is not asked.
        var pausedUntil: LoopInstant
        var pause: Duration
    }

    private let client: LogClient
    private let loop: EventLoop
    private let maxWait: Duration
    private let pause: Duration
    private let state = Mutex(State())

    /// - Parameters:
    ///   - loop: runs the requests if the first caller is not on an event loop. On the bus's own loop, a reply need not
    ///     wake another thread.
    ///   - maxWait: the limit of the wait: longer than a healthy reply takes. If it passes, the caller does not use its
    ///     cache and composes again, which takes time too.
    ///   - pause: the time for which an owner is not asked after it did not reply. Each time that callers wait
    ///     for it in vain, its pause doubles, up to eight times this length. So callers seldom wait for an owner that
    ///     hangs.
    public init(
        _ client: LogClient, on loop: EventLoop, maxWait: Duration = .milliseconds(500),
        pause: Duration = .milliseconds(500)
    ) {
        self.client = client
        self.loop = loop
        self.maxWait = maxWait
        self.pause = pause
    }

    /// Requests the heads of logs from their owners.
    ///
    /// - Returns: the heads of these logs, and perhaps of others. A log is missing if its owner did not reply now, or a
    ///   short time ago.
    public func heads(of logs: [LogID]) async -> Heads {
        await withCheckedContinuation { continuation in
            let isFirst = state.withLock { state in
                defer { state.isAsking = true }
                state.waiting.append(Waiting(logs: logs, continuation: continuation))
                return !state.isAsking
            }
            if isFirst { Task(executorPreference: EventLoop.current ?? loop) { [self] in await answerAll() } }
        }
    }

    /// Answers the waiting callers in rounds. Callers that arrive during a round are answered by the next
    /// one.
    private func answerAll() async {
        while case let round = nextRound(), !round.isEmpty {
            let heads = await heads(of: Set(round.lazy.flatMap(\.logs)))
            for waiting in round { waiting.continuation.resume(returning: heads) }
        }
    }

    private func heads(of logs: Set<LogID>) async -> Heads {
        let start = LoopInstant.now()
        let asked = state.withLock { state in
            if state.silent.isEmpty { return logs }
            return logs.filter { state.silent[$0].map { $0.pausedUntil <= start } ?? true }
        }
        guard !asked.isEmpty else { return [:] }
        let heads = await client.heads(of: asked.sorted(), within: maxWait)
        state.withLock { state in
            if heads.count == asked.count, state.silent.isEmpty { return }
            let hasWaited = LoopInstant.now() - start >= maxWait
            for logID in asked { note(heads[logID] != nil, of: logID, hasWaited: hasWaited, &state) }
        }
        return heads
    }

    private func note(_ hasReplied: Bool, of logID: LogID, hasWaited: Bool, _ state: inout State) {
        guard !hasReplied else {
            state.silent[logID] = nil
            return
        }
        let earlier = state.silent[logID]?.pause
        let longer = earlier.map { hasWaited ? min($0 * 2, pause * 8) : pause } ?? pause
        state.silent[logID] = Silence(pausedUntil: .now() + longer, pause: longer)
    }

    private func nextRound() -> [Waiting] {
        state.withLock { state in
            defer { state.waiting = [] }
            state.isAsking = !state.waiting.isEmpty
            return state.waiting
        }
    }
}
