import Reactor
import Synchronization

/// Asks the required services whether they reply, once for all who want to know at about the same time.
///
/// `/readyz` needs no login. If each request for it asked every service, one address could fill the bus.
package final class ReadinessProbe: Sendable {
    private struct Round {
        let answer: Task<Set<String>, Never>
        /// The time until which the answer is given to others; nil while services are asked.
        var validUntil: LoopInstant?
    }

    private let validity: Duration
    private let ask: @Sendable () async -> Set<String>
    private let round = Mutex<Round?>(nil)

    /// - Parameters:
    ///   - validity: the time for which an answer is given again.
    ///   - ask: returns the services that do not reply.
    package init(validity: Duration = .milliseconds(250), _ ask: @escaping @Sendable () async -> Set<String>) {
        self.validity = validity
        self.ask = ask
    }

    /// Returns the services that do not reply, at most `validity` ago. While services are asked, all callers wait for
    /// the same answer.
    package func missingServices() async -> Set<String> {
        let answer = round.withLock { round in
            if let current = round, current.validUntil.map({ $0 > .now() }) ?? true { return current.answer }
            let answer = Task {
                let missing = await self.ask()
                self.round.withLock { $0?.validUntil = .now() + self.validity }
                return missing
            }
            round = Round(answer: answer)
            return answer
        }
        return await answer.value
    }
}
