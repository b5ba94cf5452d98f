import Contracts
import ServiceKit
import Synchronization

/// Counts what people and addresses do, and says when it is too much (the generic cell rate algorithm, ITU-T I.371): one
/// time a key, however high the limit.
final class RateLimiter: Sendable {
    struct Key: Hashable, Sendable {
        let limit: String
        let who: String
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

    /// Counts one more, unless that is too much.
    ///
    /// - Parameters:
    ///   - counting: false only asks.
    ///   - now: milliseconds, of any clock that does not go back.
    /// - Returns: the seconds until it is allowed again; nil if it is.
    func take(_ limit: RateLimit, person: String?, address: String, counting: Bool = true, now: Int) -> Int? {
        guard isOn else { return nil }
        let rate =
            overrides[limit.name]
            ?? Rate(perPerson: limit.perPerson, perAddress: limit.perAddress, window: .seconds(limit.seconds))
        var checks = [(Key(limit: limit.name, who: "address/\(address)"), rate.perAddress, rate.addressWindow)]
        if let person {
            let name = String(decoding: person.utf8.prefix(Self.maxNameLength), as: UTF8.self)
            checks.append((Key(limit: limit.name, who: "person/\(name)"), rate.perPerson, rate.personWindow))
        }
        let now = Double(now)
        return state.withLock { state in
            if state.times.count >= state.sweepAt {
                state.times = state.times.filter { $0.value > now }
                state.sweepAt = max(Self.sweepAt, state.times.count * 2)
            }
            var wait = 0.0
            for (key, count, window) in checks {
                let window = Double(window.milliseconds)
                let next = max(state.times[key] ?? 0, now) + window / Double(count)
                wait = max(wait, next - now - window)
            }
            guard wait <= 0 else { return max(1, Int((wait / 1000).rounded(.up))) }
            guard counting else { return nil }
            for (key, count, window) in checks {
                state.times[key] = max(state.times[key] ?? 0, now) + Double(window.milliseconds) / Double(count)
            }
            return nil
        }
    }
}
