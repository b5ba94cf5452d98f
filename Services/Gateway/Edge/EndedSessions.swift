import Contracts
import Synchronization

/// The ended sessions whose access tokens are refused while one could still be valid: a token is
/// checked without a request.
///
/// Bounded: beyond `capacity`, the sessions that ended first are evicted. Then every token from
/// before their end is refused instead. A client with such a token refreshes it, as if it had
/// expired. No refused token becomes valid again.
package final class EndedSessions: Sendable {
    private struct Ended {
        let key: Int
        let endedAt: Int
        let tokensUntil: Int
    }

    private struct State {
        var keys: Set<Int> = []
        /// In the order of arrival; those before `head` are evicted.
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

    /// True once all sessions are known that ended before this gateway began to follow the log.
    /// Until then a token that names a session is not trusted.
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

    /// True if a valid token is refused because its session ended. False for a token that names no
    /// session.
    package func refuses(_ claims: AccessClaims) -> Bool {
        guard let id = claims.sessionID else { return false }
        let key = Self.key(id)
        return state.withLock { $0.keys.contains(key) || (claims.issuedAt ?? 0) <= $0.floor }
    }

    /// A 64-bit hash instead of the text. Among 200,000 ended sessions, a given other one collides
    /// once in 10¹⁴. An attacker who chooses ids cannot aim for a collision, because the hash has a
    /// key of this process.
    private static func key(_ id: String) -> Int {
        var hasher = Hasher()
        hasher.combine(id)
        return hasher.finalize()
    }
}
