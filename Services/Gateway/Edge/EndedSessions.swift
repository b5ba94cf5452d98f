import ParlorContracts
import Synchronization

/// The ended sessions whose access tokens are refused while they could still be valid. A token is checked
/// without a request.
///
/// The number is bounded: beyond `capacity`, the sessions that ended first are evicted, and every token
/// issued before their end is refused instead. A client with such a token refreshes it, as if it had expired.
/// No refused token becomes valid again.
package final class EndedSessions: Sendable {
    private struct Ended {
        let key: Int
        let endedAt: Int
        let tokensUntil: Int
    }

    private struct State {
        var keys: Set<Int> = []
        /// The ended sessions in order of arrival; those before `head` are evicted.
        var order: [Ended] = []
        var head = 0
        /// Tokens that were issued up to this time are refused. In seconds since 1970.
        var floor = Int.min
        var isKnown = false

        mutating func forgetFirst() {
            keys.remove(order[head].key)
            head += 1
            // The rest is moved only when half of the array is evicted, so each eviction costs one
            // move on average.
            if head * 2 >= order.count {
                order.removeFirst(head)
                head = 0
            }
        }
    }

    /// The default limit of sessions, about ten megabytes.
    package static let capacity = 200_000

    private let capacity: Int
    private let state = Mutex(State())

    package init(capacity: Int = EndedSessions.capacity) { self.capacity = capacity }

    /// True once this gateway knows all sessions that ended before it began to follow the log. Until then it does not
    /// accept a token that names a session.
    package var isKnown: Bool { state.withLock { $0.isKnown } }

    package var count: Int { state.withLock { $0.keys.count } }

    package func becomeKnown() { state.withLock { $0.isKnown = true } }

    /// Notes sessions whose tokens are refused from now on.
    ///
    /// - Parameters:
    ///   - endedAt: the time on the clock of the service that ended them.
    ///   - now: the current time; sessions whose tokens have expired are not kept.
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

    /// Returns true if a valid token is refused because its session ended. It returns false for a token that names
    /// no session.
    package func refuses(_ claims: AccessClaims) -> Bool {
        guard let id = claims.sessionID else { return false }
        let key = Self.key(id)
        return state.withLock { $0.keys.contains(key) || (claims.issuedAt ?? 0) <= $0.floor }
    }

    /// Returns a 64-bit hash that is kept instead of the text. The probability that a given other
    /// session collides with one of 200,000 is 10⁻¹⁴. An attacker who chooses ids cannot cause a
    /// collision, because the hash has a key of this process.
    private static func key(_ id: String) -> Int {
        var hasher = Hasher()
        hasher.combine(id)
        return hasher.finalize()
    }
}
