import Contracts
import ServiceKit
import Synchronization

/// Counts what people and addresses do, and says when it is too much (the generic cell rate algorithm, ITU-T I.371): one
/// time a key, however high the limit.
final class RateLimiter: Sendable {
    private struct Key: Hashable {
        let limit: String
        let who: String
    }

    /// One call's share of one key's limit, in milliseconds.
    private struct Share {
        let key: Key
        let window: Double
        let interval: Double

        init(_ limit: String, _ who: String, _ count: Int, _ window: Duration) {
            key = Key(limit: limit, who: who)
            self.window = Double(window.milliseconds)
            interval = self.window / Double(count)
        }
    }

    /// Bytes of a name that count: those who log in choose it, and it may be a megabyte long.
    static let maxNameLength = 256
    /// Keys that are kept before those whose time has passed are swept.
    static let sweepAt = 100_000

    private struct State {
        /// When each key would be back at nothing, in milliseconds.
        var times: [Key: Double] = [:]
        var sweepAt = RateLimiter.sweepAt
    }

    private let isOn: Bool
    private let overrides: [String: Rate]
    private let state = Mutex(State())

    /// - Parameter overrides: by the limit's name.
    init(isOn: Bool, overrides: [String: Rate]) {
        self.isOn = isOn
        self.overrides = overrides
    }

    /// Counts one more against all of the limits, or against none if that is too much for one of them.
    ///
    /// - Parameter now: milliseconds, of any clock that does not go back.
    /// - Returns: the seconds until it is allowed again; nil if it is.
    func take(_ limits: [RateLimit], person: String?, address: String, now: Int) -> Int? {
        let shares = shares(limits, person: person, address: address)
        let now = Double(now)
        return state.withLock { state in
            if state.times.count >= state.sweepAt {
                state.times = state.times.filter { $0.value > now }
                state.sweepAt = max(Self.sweepAt, state.times.count * 2)
            }
            var wait = 0.0
            for share in shares {
                let next = max(state.times[share.key] ?? 0, now) + share.interval
                wait = max(wait, next - now - share.window)
            }
            guard wait <= 0 else { return max(1, Int((wait / 1000).rounded(.up))) }
            for share in shares { state.times[share.key] = max(state.times[share.key] ?? 0, now) + share.interval }
            return nil
        }
    }

    /// Uncounts what `take` counted. Exact if it is called before time itself has given that back: within the limit's time
    /// divided by its count.
    func giveBack(_ limits: [RateLimit], person: String?, address: String, now: Int) {
        let shares = shares(limits, person: person, address: address)
        state.withLock { state in
            for share in shares {
                guard let time = state.times[share.key] else { continue }
                let before = time - share.interval
                state.times[share.key] = before > Double(now) ? before : nil
            }
        }
    }

    private func shares(_ limits: [RateLimit], person: String?, address: String) -> [Share] {
        guard isOn else { return [] }
        let name = person.map { String(decoding: $0.utf8.prefix(Self.maxNameLength), as: UTF8.self) }
        return limits.flatMap { limit in
            let rate =
                overrides[limit.name]
                ?? Rate(perPerson: limit.perPerson, perAddress: limit.perAddress, window: .seconds(limit.seconds))
            let ofAddress = Share(limit.name, "address/\(address)", rate.perAddress, rate.addressWindow)
            guard let name else { return [ofAddress] }
            return [ofAddress, Share(limit.name, "person/\(name)", rate.perPerson, rate.personWindow)]
        }
    }
}
