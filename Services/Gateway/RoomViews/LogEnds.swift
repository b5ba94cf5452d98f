import Contracts
import GatewayCatalog
import Reactor
import Synchronization

/// Asks the owners of event logs where those end, once for all who want to know at the time.
///
/// Nobody is told of an end that was looked up before they asked. So what was acknowledged to anybody, by any gateway, before that stands
/// at or before it: the "read index" of Raft (section 6.4 of Ongaro's dissertation).
package final class LogEnds: Sendable {
    typealias Ends = [String: Bookmark]

    private struct Waiting: Sendable {
        let streams: [String]
        let continuation: CheckedContinuation<Ends, Never>
    }

    private struct State {
        var isAsking = false
        var waiting: [Waiting] = []
        /// Nobody is asked until then.
        var resting = LoopInstant(nanoseconds: 0)
    }

    /// Longer than a healthy answer takes. To compose anew takes its own time beside it.
    private static let patience: Duration = .milliseconds(500)
    /// After an owner has not answered: for half of the time nobody waits for one that is away, or has too much to do.
    private static let rest: Duration = .milliseconds(500)

    private let missed: MissedEntries
    private let loop: EventLoop
    private let state = Mutex(State())

    /// - Parameter loop: where answers are waited for, so that no other thread has to be woken for them.
    package init(_ missed: MissedEntries, on loop: EventLoop) {
        self.missed = missed
        self.loop = loop
    }

    /// - Returns: where each of these logs ends; those whose owner does not answer are not in it.
    func ends(of streams: [String]) async -> Ends {
        await withCheckedContinuation { continuation in
            let isFirst = state.withLock { state in
                defer { state.isAsking = true }
                state.waiting.append(Waiting(streams: streams, continuation: continuation))
                return !state.isAsking
            }
            if isFirst { Task(executorPreference: loop) { [self] in await answerAll() } }
        }
    }

    /// Those who come while it is asked are answered with what is asked next.
    private func answerAll() async {
        while case let round = nextRound(), !round.isEmpty {
            let ends = await ends(of: Set(round.lazy.flatMap(\.streams)))
            for waiting in round { waiting.continuation.resume(returning: ends) }
        }
    }

    private func ends(of streams: Set<String>) async -> Ends {
        guard state.withLock({ $0.resting <= .now() }) else { return [:] }
        let ends = await missed.heads(of: streams.sorted(), by: .now() + Self.patience)
        if ends.count < streams.count { state.withLock { $0.resting = .now() + Self.rest } }
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
