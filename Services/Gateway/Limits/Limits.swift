import ParlorContracts
import ParlorGatewayCatalog
import ParlorReactor
import ParlorServiceKit

/// A request or event that rate limits admitted, until its outcome is known.
package struct LimitPass: Sendable {
    fileprivate let failures: [RateLimiter.Charge]
    /// The bytes that were counted.
    fileprivate let written: RateLimiter.Charge?
    fileprivate let person: String?
    fileprivate let address: IPAddress
}

/// The limits for people and addresses, in number, bytes and concurrency: those that services declare for
/// their routes and events, and the gateway's own.
package final class Limits: Sendable {
    private let limiter: RateLimiter
    private let slots: RequestSlots
    private let refused: Counter
    private let clock: @Sendable () -> LoopInstant

    /// The overhead of a write in addition to its own bytes: a row and a log entry have names, ids and times.
    private static let writeOverhead = 256

    /// - Parameter clock: a clock that does not go back.
    package init(
        _ limiter: RateLimiter, _ slots: RequestSlots, metrics: Metrics,
        clock: @escaping @Sendable () -> LoopInstant = { .now() }
    ) {
        self.limiter = limiter
        self.slots = slots
        self.clock = clock
        refused = metrics.counter("parlor_rate_limited_total", "Requests and events refused by a rate limit.")
    }

    /// The current time in milliseconds.
    private var now: Int { (clock() - LoopInstant(nanoseconds: 0)).milliseconds }

    // MARK: Rates

    /// Counts one more request against these limits, or refuses it. If one of them counts failures, `settle` must
    /// follow.
    ///
    /// A failure is counted beforehand, too, and refunded if the request does not fail. If it were counted only
    /// afterwards, concurrent guesses at a password would all pass.
    ///
    /// - Parameters:
    ///   - person: nil if the caller is unknown.
    ///   - isAddressCounted: true if `passAddress` has counted it for the address.
    ///   - bytes: the bytes written; nil if nothing is written.
    /// - Throws: `rate_limited`.
    @discardableResult
    package func pass(
        _ limits: [RateLimit], person: String?, address: IPAddress, isAddressCounted: Bool = false,
        writing bytes: Int? = nil
    ) throws(ServiceError) -> LimitPass {
        let (charges, written) = charges(
            limits, isAddressCounted: isAddressCounted, writing: person == nil ? nil : bytes)
        if let excess = limiter.take(charges, person: person, address: address, now: now) {
            // A person's own refusal must not use up the limit of others behind the same address.
            if isAddressCounted { limiter.giveBack(limits.map { .init($0) }, person: nil, address: address, now: now) }
            throw refusal(excess)
        }
        return LimitPass(
            failures: limits.filter { $0.counted == .failures }.map { .init($0) }, written: written, person: person,
            address: address)
    }

    private func charges(
        _ limits: [RateLimit], isAddressCounted: Bool = false, writing bytes: Int?
    ) -> (all: [RateLimiter.Charge], written: RateLimiter.Charge?) {
        let written = bytes.map { RateLimiter.Charge(OwnLimits.bytes, cost: $0 + Self.writeOverhead) }
        var all: [RateLimiter.Charge] = []
        all.reserveCapacity(limits.count + 1)
        for limit in limits { all.append(RateLimiter.Charge(limit, isForAddress: !isAddressCounted)) }
        if let written { all.append(written) }
        return (all, written)
    }

    /// Counts one more for the address alone, while the caller is unknown.
    ///
    /// - Throws: `rate_limited`.
    package func passAddress(_ limits: [RateLimit], _ address: IPAddress) throws(ServiceError) {
        if let excess = limiter.take(limits.map { .init($0) }, person: nil, address: address, now: now) {
            throw refusal(excess)
        }
    }

    /// Notes the outcome: this error, or success.
    package func settle(_ pass: LimitPass, _ error: ServiceError?) {
        if error?.code == .invalidCredentials || pass.failures.isEmpty { return }
        limiter.giveBack(pass.failures, person: pass.person, address: pass.address, now: now)
    }

    /// Refunds the failures that were counted for an address alone: there was no attempt that could have
    /// failed.
    package func giveBackFailures(of limits: [RateLimit], _ address: IPAddress) {
        let failures = limits.filter { $0.counted == .failures }
        limiter.giveBack(failures.map { .init($0) }, person: nil, address: address, now: now)
    }

    /// Refunds the bytes of a request that wrote nothing: it repeated an earlier write, or was refused before
    /// its body was parsed.
    package func giveBackBytes(_ pass: LimitPass) {
        guard let written = pass.written else { return }
        limiter.giveBack([written], person: pass.person, address: pass.address, now: now)
    }

    /// Checks these limits for a request that writes this many bytes, without counting it. It is counted once it has
    /// arrived.
    ///
    /// - Throws: `rate_limited`.
    package func check(
        _ limits: [RateLimit], person: String, address: IPAddress, writing bytes: Int?
    ) throws(ServiceError) {
        let charges = charges(limits, writing: bytes).all
        if let excess = limiter.take(charges, person: person, address: address, isTrial: true, now: now) {
            throw refusal(excess)
        }
    }

    /// Counts one more request of this address, or returns the number of seconds it has to wait.
    package func secondsToWait(of address: IPAddress) -> Int? {
        limiter.take([.init(OwnLimits.requests)], person: nil, address: address, now: now)?.seconds
    }

    private func refusal(_ excess: (limit: RateLimit, seconds: Int)) -> ServiceError {
        refused.add()
        let what =
            excess.limit.name == OwnLimits.bytes.name
            ? "That is more than may be written in so short a time." : "That was too often."
        return ServiceError(.rateLimited, "\(what) Try again in \(excess.seconds) s.", retryAfter: excess.seconds)
    }

    // MARK: Lists of rooms

    /// Counts one more list of rooms, or refuses it; `noteList` then counts its rooms.
    ///
    /// - Throws: `rate_limited`.
    package func passList(_ person: String, _ address: IPAddress) throws(ServiceError) {
        try pass([OwnLimits.lists], person: person, address: address)
    }

    /// Counts the rooms of a list that was composed.
    package func noteList(of rooms: Int, for person: String, _ address: IPAddress) {
        guard rooms > 0 else { return }
        limiter.add([.init(OwnLimits.lists, cost: rooms)], person: person, address: address, now: now)
    }

    // MARK: Connecting sockets

    /// Counts a connect of this address, before its token is verified. Returns false if there are too many.
    package func mayConnect(from address: IPAddress) -> Bool {
        isPassed { () throws(ServiceError) in try passAddress([OwnLimits.connects], address) }
    }

    package func mayConnect(_ person: String, from address: IPAddress) -> Bool {
        isPassed { () throws(ServiceError) in
            try pass([OwnLimits.connects], person: person, address: address, isAddressCounted: true)
        }
    }

    /// Returns true if a socket that reconnects may get the events that it missed. Otherwise its client has to
    /// reload.
    package func mayRecover(_ person: String, from address: IPAddress) -> Bool {
        isPassed { () throws(ServiceError) in try pass([OwnLimits.sync], person: person, address: address) }
    }

    private func isPassed(_ count: () throws(ServiceError) -> Void) -> Bool {
        do throws(ServiceError) {
            try count()
            return true
        } catch {
            return false
        }
    }

    // MARK: Requests in progress

    /// Takes a slot for a request of a person.
    ///
    /// - Throws: `rate_limited` if the person has too many requests in progress.
    package func enter(_ person: String) throws(ServiceError) -> RequestSlots.Slot {
        guard let slot = slots.enter(person) else { throw tooMany() }
        return slot
    }

    /// Waits for a slot among the person's heavy requests. Call it on this loop. An HTTP request holds an ordinary slot
    /// meanwhile; the replay of a socket holds none.
    ///
    /// - Throws: `rate_limited` if none becomes free in time.
    package func enterHeavy(
        _ person: String, on loop: EventLoop, by deadline: LoopInstant
    ) async throws(ServiceError) -> RequestSlots.Slot {
        var timer: LoopTimer?
        let slot = await slots.enterHeavy(person) { [slots] id in
            timer = loop.schedule(after: deadline - .now()) { slots.giveUp(id, of: person) }
        }
        timer?.cancel()
        guard let slot else { throw tooMany() }
        return slot
    }

    private func tooMany() -> ServiceError {
        refused.add()
        return ServiceError(
            .rateLimited, "Too many of your requests are in progress. Try again in a moment.", retryAfter: 1)
    }

    /// Returns the error for an event that would exceed the limit of bytes in progress.
    ///
    /// - Parameter isOwn: true if the person or the address has reached its share; false if the total is
    ///   reached.
    package func noRoom(isOwn: Bool) -> ServiceError {
        refused.add()
        return isOwn
            ? ServiceError(
                .rateLimited, "Too many bytes of your requests are in progress. Try again in a moment.", retryAfter: 1)
            : ServiceError(.serviceUnavailable, "Too many bytes of requests are in progress. Try again in a moment.")
    }
}
