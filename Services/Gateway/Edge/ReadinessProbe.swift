import ParlorReactor
import Synchronization

/// Asks the required services whether they reply, in a limited number of rounds for all who want to know.
///
/// `/readyz` needs no login. If each request for it asked every service, a few addresses could fill the bus. An
/// answer is reused only within the interval in which its round began, so no answer is old.
package final class ReadinessProbe: Sendable {
    private struct State {
        /// The last round, which may be in progress.
        var answer: Task<Set<String>, Never>?
        var isAsking = false
        /// The end of the current interval, and the rounds in it.
        var intervalEnd = LoopInstant(nanoseconds: 0)
        var rounds = 0
    }

    /// The limit of rounds in each interval. Beyond it the last answer is given again.
    package static let maxRounds = 8

    private let interval: Duration
    private let ask: @Sendable () async -> Set<String>
    private let state = Mutex(State())

    /// - Parameter ask: returns the services that do not reply.
    package init(interval: Duration = .milliseconds(250), _ ask: @escaping @Sendable () async -> Set<String>) {
        self.interval = interval
        self.ask = ask
    }

    /// Returns the services that do not reply. While services are asked, all callers wait for the same answer.
    package func missingServices() async -> Set<String> {
        let answer = state.withLock { state in
            let now = LoopInstant.now()
            if now >= state.intervalEnd { (state.intervalEnd, state.rounds) = (now + interval, 0) }
            if let answer = state.answer, state.isAsking || state.rounds >= Self.maxRounds { return answer }
            state.rounds += 1
            state.isAsking = true
            let answer = Task {
                let missing = await self.ask()
                self.state.withLock { $0.isAsking = false }
                return missing
            }
            state.answer = answer
            return answer
        }
        return await answer.value
    }
}
