import Contracts
import Synchronization

/// The sessions whose access tokens are refused, for as long as one of those could be good: a token is checked without asking anyone.
///
/// Bounded: beyond `capacity`, the sessions that ended first are forgotten, and in their place every token is refused that was made before they
/// ended. Whoever holds such a token renews it, as if it had expired; nobody comes in who should not.
package final class EndedSessions: Sendable {
    private struct Ended {
        let key: Int
        let endedAt: Int
        let tokensUntil: Int
    }

    private struct State {
        var keys: Set<Int> = []
        /// In the order in which they were heard of; those before `head` are forgotten.
        var order: [Ended] = []
        var head = 0
        /// Tokens that were made until then, in seconds since 1970 as tokens say it, are refused.
        var floor = Int.min
        var isKnown = false

        mutating func forgetFirst() {
            keys.remove(order[head].key)
            head += 1
            // Moving up those that stay once as many have gone before them makes a step for each.
            if head * 2 >= order.count {
                order.removeFirst(head)
                head = 0
            }
        }
    }

    /// About ten megabytes.
    package static let capacity = 200_000

    private let capacity: Int
    private let state = Mutex(State())

    package init(capacity: Int = EndedSessions.capacity) { self.capacity = capacity }

    /// Whether it is known which sessions ended before this gateway began to listen. Until then no token that names one is to be believed.
    package var isKnown: Bool { state.withLock { $0.isKnown } }

    package var count: Int { state.withLock { $0.keys.count } }

    package func becomeKnown() { state.withLock { $0.isKnown = true } }

    /// - Parameters:
    ///   - endedAt: by the clock of the service that ended them.
    ///   - now: what no token can be good for any more is not kept.
    package func note(_ ended: SessionsEnded, at endedAt: Timestamp, now: Timestamp) {
        state.withLock { state in
            while state.head < state.order.count, state.order[state.head].tokensUntil <= now.milliseconds {
                state.forgetFirst()
            }
            guard ended.tokensUntil > now else { return }
            for id in ended.sessionIDs {
                let key = Self.key(id)
                guard state.keys.insert(key).inserted else { continue }
                state.order.append(
                    Ended(
                        key: key, endedAt: endedAt.milliseconds, tokensUntil: ended.tokensUntil.milliseconds))
                guard state.keys.count > capacity else { continue }
                state.floor = max(state.floor, state.order[state.head].endedAt / 1000)
                state.forgetFirst()
            }
        }
    }

    /// Whether a token that is good otherwise is refused for its session. One that names none is not.
    package func refuses(_ claims: AccessClaims) -> Bool {
        guard let id = claims.sessionID else { return false }
        let key = Self.key(id)
        return state.withLock { $0.keys.contains(key) || (claims.issuedAt ?? 0) <= $0.floor }
    }

    /// 64 bits in the place of a text: of 200,000 that ended none has those of a given other, but once in 10¹⁴; and who chose ids could not
    /// aim, as the hash has a key of this process'.
    private static func key(_ id: String) -> Int {
        var hasher = Hasher()
        hasher.combine(id)
        return hasher.finalize()
    }
}
