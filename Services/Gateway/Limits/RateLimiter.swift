import Contracts
import Reactor
import ServiceKit
import Synchronization

/// Counts what people and addresses do, and says when it is too much (the generic cell rate algorithm, ITU-T I.371): one
/// time a key, however high the limit.
package final class RateLimiter: Sendable {
    private struct Key: Hashable {
        enum Party: Hashable {
            case person(String)
            case address(IPAddress)
        }

        let limit: String
        let party: Party
    }

    /// One call's share of one key's limit, in whole nanoseconds: in binary fractions the last allowed call would often not
    /// fit.
    private struct Share {
        let key: Key
        let window: Int
        let interval: Int

        init(_ limit: String, _ party: Key.Party, _ count: Int, _ window: Duration, cost: Int) {
            key = Key(limit: limit, party: party)
            self.window = window.milliseconds * 1_000_000
            // What costs more than the whole limit is refused for ever: two windows are enough to say so.
            let (interval, isOver) = (self.window / count).multipliedReportingOverflow(by: cost)
            self.interval = isOver ? 2 * self.window : min(interval, 2 * self.window)
        }
    }

    /// Bytes of a name that count: those who log in choose it, and it may be a megabyte long.
    package static let maxNameLength = 256
    /// People and addresses, each with a limit, that are counted at once; some 20 MB. Beyond, those that did nothing for
    /// longest are forgotten, and start afresh.
    package static let maxKeys = 100_000

    private let isOn: Bool
    private let overrides: [String: Rate]
    /// When each key would be back at nothing, in nanoseconds.
    private let times: Mutex<RecentTimes<Key>>

    /// - Parameter overrides: by the limit's name.
    package init(isOn: Bool, overrides: [String: Rate], maxKeys: Int = RateLimiter.maxKeys) {
        self.isOn = isOn
        self.overrides = overrides
        times = Mutex(RecentTimes(capacity: maxKeys))
    }

    /// Counts one more against all of the limits, or against none if that is too much for one of them.
    ///
    /// - Parameters:
    ///   - person: nil if it is not known who asks, or the person is counted apart.
    ///   - address: nil if the address was counted before.
    ///   - cost: of what is counted in something else than calls.
    ///   - now: milliseconds, of any clock that does not go back.
    /// - Returns: the seconds until it is allowed again; nil if it is.
    package func take(_ limits: [RateLimit], person: String?, address: IPAddress?, cost: Int = 1, now: Int) -> Int? {
        guard isOn else { return nil }
        let shares = shares(limits, person: person, address: address, cost: cost)
        let now = now * 1_000_000
        return times.withLock { times in
            var wait = 0
            for share in shares {
                let next = max(times[share.key] ?? 0, now) + share.interval
                wait = max(wait, next - now - share.window)
            }
            guard wait <= 0 else { return (wait + 999_999_999) / 1_000_000_000 }
            for share in shares { times[share.key] = max(times[share.key] ?? 0, now) + share.interval }
            return nil
        }
    }

    /// Counts what is known only after it was done, also beyond the limits: `take` refuses what comes next.
    package func add(_ limits: [RateLimit], person: String, address: IPAddress, cost: Int, now: Int) {
        let shares = shares(limits, person: person, address: address, cost: cost)
        let now = now * 1_000_000
        times.withLock { times in
            for share in shares { times[share.key] = max(times[share.key] ?? 0, now) + share.interval }
        }
    }

    /// Uncounts what `take` counted. Exact if it is called before time itself has given that back: within the limit's time
    /// divided by its count.
    package func giveBack(_ limits: [RateLimit], person: String?, address: IPAddress?, cost: Int = 1, now: Int) {
        let shares = shares(limits, person: person, address: address, cost: cost)
        times.withLock { times in
            for share in shares {
                guard let time = times[share.key] else { continue }
                let before = time - share.interval
                times[share.key] = before > now * 1_000_000 ? before : nil
            }
        }
    }

    private func shares(_ limits: [RateLimit], person: String?, address: IPAddress?, cost: Int) -> [Share] {
        guard isOn else { return [] }
        let address = address?.subscriber
        let name = person.map { String(decoding: $0.utf8.prefix(Self.maxNameLength), as: UTF8.self) }
        return limits.flatMap { limit in
            let rate =
                overrides[limit.name]
                ?? Rate(perPerson: limit.perPerson, perAddress: limit.perAddress, window: .seconds(limit.seconds))
            return [
                address.map { Share(limit.name, .address($0), rate.perAddress, rate.addressWindow, cost: cost) },
                name.map { Share(limit.name, .person($0), rate.perPerson, rate.personWindow, cost: cost) },
            ].compactMap(\.self)
        }
    }
}
