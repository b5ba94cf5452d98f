import ParlorContracts
import ParlorReactor
import ParlorServiceKit
import Synchronization

/// Counts the actions of people and addresses, and reports when a limit is exceeded. It stores one timestamp
/// for each key (the generic cell rate algorithm, ITU-T I.371).
package final class RateLimiter: Sendable {
    private struct Key: Hashable {
        enum Party: Hashable {
            case person(String)
            case address(IPAddress)
        }

        let limit: String
        let party: Party
    }

    /// What one call takes from a key's limit, as a time: the period divided by the count. It is in whole nanoseconds,
    /// because rounding errors of a `Double` would often refuse the last permitted call.
    private struct Share {
        let limit: RateLimit
        let key: Key
        let window: Int
        let interval: Int

        init(_ charge: Charge, _ party: Key.Party, _ count: Int, _ window: Duration) {
            limit = charge.limit
            key = Key(limit: charge.limit.name, party: party)
            self.window = window.milliseconds * 1_000_000
            // A cost above the whole limit is always refused: two windows are enough to represent it.
            interval = charge.cost / count < 2 ? self.window / count * charge.cost : 2 * self.window
        }
    }

    /// What an action takes from a limit.
    package struct Charge: Sendable {
        let limit: RateLimit
        let cost: Int
        /// False if it was counted for the address before.
        let isForAddress: Bool

        package init(_ limit: RateLimit, cost: Int = 1, isForAddress: Bool = true) {
            self.limit = limit
            self.cost = cost
            self.isForAddress = isForAddress
        }
    }

    /// A key keeps at most this many bytes of a person's id.
    package static let maxNameLength = 256
    /// The limit of counted keys (a person or address, with a limit); some 20 MB. Beyond it, the least
    /// recently used are forgotten, and start again.
    package static let maxKeys = 100_000

    private let isOn: Bool
    private let overrides: [String: Rate]
    /// The time at which each key's count would be zero again, in nanoseconds.
    private let times: Mutex<RecentTimes<Key>>

    /// - Parameter overrides: the rates by the limit's name.
    package init(isOn: Bool, overrides: [String: Rate], maxKeys: Int = RateLimiter.maxKeys) {
        self.isOn = isOn
        self.overrides = overrides
        times = Mutex(RecentTimes(capacity: maxKeys))
    }

    /// Counts an action against all of the limits, or against none if it exceeds one of them.
    ///
    /// - Parameters:
    ///   - person: nil to count the address alone.
    ///   - address: nil to count the person alone.
    ///   - isTrial: true to count nothing.
    ///   - now: milliseconds, of any clock that does not go back.
    /// - Returns: the limit with the longest wait, and the seconds until the action is allowed; nil if it is allowed now.
    package func take(
        _ charges: [Charge], person: String?, address: IPAddress?, isTrial: Bool = false, now: Int
    ) -> (limit: RateLimit, seconds: Int)? {
        guard isOn else { return nil }
        let shares = shares(charges, person: person, address: address)
        let now = now * 1_000_000
        return times.withLock { times in
            var wait = 0
            var longest: RateLimit?
            for share in shares {
                let next = max(times[share.key] ?? 0, now) + share.interval
                guard case let own = next - now - share.window, own > wait else { continue }
                (wait, longest) = (own, share.limit)
            }
            if let longest { return (longest, (wait + 999_999_999) / 1_000_000_000) }
            if isTrial { return nil }
            for share in shares { times[share.key] = max(times[share.key] ?? 0, now) + share.interval }
            return nil
        }
    }

    /// Counts an amount that is known only afterwards, even beyond the limits: `take` then refuses the next
    /// calls.
    package func add(_ charges: [Charge], person: String, address: IPAddress, now: Int) {
        let shares = shares(charges, person: person, address: address)
        let now = now * 1_000_000
        times.withLock { times in
            for share in shares { times[share.key] = max(times[share.key] ?? 0, now) + share.interval }
        }
    }

    /// Undoes a `take`. Call it soon: for a cost of 1, within window / count. The amount also expires with time, so a
    /// later call may refund it twice.
    package func giveBack(_ charges: [Charge], person: String?, address: IPAddress?, now: Int) {
        let shares = shares(charges, person: person, address: address)
        times.withLock { times in
            for share in shares {
                guard let time = times[share.key] else { continue }
                let before = time - share.interval
                times[share.key] = before > now * 1_000_000 ? before : nil
            }
        }
    }

    private func shares(_ charges: [Charge], person: String?, address: IPAddress?) -> [Share] {
        guard isOn else { return [] }
        let address = address?.subscriber
        let person = person.map {
            guard $0.utf8.count > Self.maxNameLength else { return $0 }
            return String(decoding: $0.utf8.prefix(Self.maxNameLength), as: UTF8.self)
        }
        var shares: [Share] = []
        shares.reserveCapacity(2 * charges.count)
        for charge in charges {
            let limit = charge.limit
            let rate =
                overrides[limit.name]
                ?? Rate(perPerson: limit.perPerson, perAddress: limit.perAddress, window: .seconds(limit.seconds))
            if let address, charge.isForAddress {
                shares.append(Share(charge, .address(address), rate.perAddress, rate.addressWindow))
            }
            if let person { shares.append(Share(charge, .person(person), rate.perPerson, rate.personWindow)) }
        }
        return shares
    }
}
