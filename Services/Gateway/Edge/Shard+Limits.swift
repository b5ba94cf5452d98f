import Contracts
import HTTP
import Reactor

/// Something that rate limits let pass, until it is known how it ended.
struct LimitPass {
    fileprivate let failures: [RateLimit]
    fileprivate let person: String?
    fileprivate let address: IPAddress
    /// What was counted against the limit of bytes.
    fileprivate var bytes = 0
}

// Rate limits: what a service declares of its routes and events is counted here.
extension Shard {
    /// What a write takes beside its own bytes: a row and an entry of a log have names, ids and times.
    private static let writeOverhead = 256

    /// Counts one more against these limits, or refuses it. `settle` follows.
    ///
    /// A limit of failures counts beforehand, too, and gets back what was none: guesses at a password that are sent together
    /// would all pass if each were counted with its answer.
    ///
    /// - Parameters:
    ///   - person: nil if nobody is known to ask.
    ///   - isAddressCounted: whether `passAddress` has counted it for the address.
    ///   - bytes: what is written; nil for what writes nothing.
    /// - Throws: `rate_limited`.
    func passLimits(
        _ limits: [RateLimit], person: String?, address: IPAddress, isAddressCounted: Bool = false,
        writing bytes: Int? = nil
    ) throws(ServiceError) -> LimitPass {
        let (limiter, now) = (context.limiter, monotonicMilliseconds)
        if let wait = limiter.take(limits, person: person, address: isAddressCounted ? nil : address, now: now) {
            // Who is refused for themselves takes nothing from those behind the same address.
            if isAddressCounted { limiter.giveBack(limits, person: nil, address: address, now: now) }
            throw refusal("That was too often.", wait)
        }
        var pass = LimitPass(failures: limits.filter { $0.counted == .failures }, person: person, address: address)
        guard let bytes, let person else { return pass }
        pass.bytes = bytes + Self.writeOverhead
        if let wait = limiter.take(bytesLimit, person: person, address: address, cost: pass.bytes, now: now) {
            limiter.giveBack(limits, person: person, address: address, now: now)
            throw refusal("That is more than may be written in so short a time.", wait)
        }
        return pass
    }

    /// Counts one more for the address alone: it is not known yet who asks.
    ///
    /// - Throws: `rate_limited`.
    func passAddress(_ limits: [RateLimit], _ address: IPAddress) throws(ServiceError) {
        if let wait = context.limiter.take(limits, person: nil, address: address, now: monotonicMilliseconds) {
            throw refusal("That was too often.", wait)
        }
    }

    /// It has ended: with this error, or well.
    func settle(_ pass: LimitPass, _ error: ServiceError?) {
        if error?.code == .invalidCredentials || pass.failures.isEmpty { return }
        context.limiter.giveBack(
            pass.failures, person: pass.person, address: pass.address, now: monotonicMilliseconds)
    }

    /// Of an address alone: there was no attempt that could have failed.
    func giveBackFailures(of limits: [RateLimit], _ address: IPAddress) {
        let failures = limits.filter { $0.counted == .failures }
        context.limiter.giveBack(failures, person: nil, address: address, now: monotonicMilliseconds)
    }

    /// Asks whether another list may be made for a person; `noteList` follows.
    ///
    /// - Throws: `rate_limited`.
    func passList(_ person: String, _ address: IPAddress) throws(ServiceError) {
        _ = try passLimits(limit("lists"), person: person, address: address)
    }

    /// A list of so many rooms was made.
    func noteList(of rooms: Int, for person: String, _ address: IPAddress) {
        guard rooms > 0 else { return }
        context.limiter.add(limit("lists"), person: person, address: address, cost: rooms, now: monotonicMilliseconds)
    }

    /// It wrote nothing: it was a retry of what was written before.
    func giveBackBytes(_ pass: LimitPass) {
        guard pass.bytes > 0 else { return }
        context.limiter.giveBack(
            bytesLimit, person: pass.person, address: pass.address, cost: pass.bytes, now: monotonicMilliseconds)
    }

    /// Of the gateway's own.
    func limit(_ name: String) -> [RateLimit] { context.directory.catalog.limits[name].map { [$0] } ?? [] }

    private var bytesLimit: [RateLimit] { limit("bytes") }

    private func refusal(_ what: String, _ wait: Int) -> ServiceError {
        context.measured.limited.add()
        return ServiceError(.rateLimited, "\(what) Try again in \(wait) s.", retryAfter: wait)
    }

    /// Counts one more request of this address, or says how long it has to wait.
    nonisolated func secondsToWait(of client: IPAddress) -> Int? {
        context.limiter.take(
            [GatewaySettings.requests], person: nil, address: client, now: monotonicMilliseconds)
    }

    /// Large bodies are taken from those who are logged in and within their limits: an unfinished one is memory.
    ///
    /// - Parameter request: without its body.
    func refusal(ofLargeBody request: HTTPRequest, from client: IPAddress) -> ServiceError? {
        let catalog = context.directory.catalog
        var route: Route?
        if let segments = request.pathSegments,
            case .route(let found, _) = catalog.routes.match(request.method, segments)
        {
            route = found
        }
        guard let claims = context.tokens.verify(authorization: request.headers["Authorization"]) else {
            if let route, !route.needsLogin {
                return ServiceError(.payloadTooLarge, "The body is too large for this address.")
            }
            return ServiceError(.unauthenticated, "Log in first.")
        }
        guard let route else { return nil }
        let limits = catalog.limits(of: route)
        do throws(ServiceError) {
            // It is counted once it has come.
            let pass = try passLimits(
                limits, person: claims.caller.id, address: client,
                writing: request.headers["Content-Length"].flatMap(Int.init))
            context.limiter.giveBack(limits, person: claims.caller.id, address: client, now: monotonicMilliseconds)
            giveBackBytes(pass)
            return nil
        } catch {
            return error
        }
    }

    nonisolated private var monotonicMilliseconds: Int { (loop.now - LoopInstant(nanoseconds: 0)).milliseconds }
}

// Sockets that connect.
extension Shard {
    /// Whether the address may ask for one more connection, whatever token it shows.
    func mayConnect(from address: IPAddress) -> Bool {
        isPassed { () throws(ServiceError) in try passAddress(limit("connects"), address) }
    }

    func mayConnect(_ caller: Caller, from address: IPAddress) -> Bool {
        isPassed { () throws(ServiceError) in
            _ = try passLimits(limit("connects"), person: caller.id, address: address, isAddressCounted: true)
        }
    }

    /// Whether a socket that comes back may ask for what it missed. If it may not, it is told to load anew.
    func mayBeCaughtUp(_ client: Client) -> Bool {
        isPassed { () throws(ServiceError) in
            _ = try passLimits(limit("sync"), person: client.caller.id, address: client.address)
        }
    }

    private func isPassed(_ count: () throws(ServiceError) -> Void) -> Bool {
        do throws(ServiceError) {
            try count()
            return true
        } catch {
            return false
        }
    }
}

// Requests under way for one person.
extension Shard {
    /// - Throws: `rate_limited` if the person has too many under way.
    func enter(_ person: String) throws(ServiceError) -> RequestSlots.Slot {
        guard let slot = context.slots.enter(person) else { throw tooMany() }
        return slot
    }

    /// Waits for a place among the person's heavy requests.
    ///
    /// - Throws: `rate_limited` if none becomes free in time.
    func enterHeavy(_ person: String, by deadline: LoopInstant) async throws(ServiceError) -> RequestSlots.Slot {
        let slots = context.slots
        var timer: LoopTimer?
        let slot = await slots.enterHeavy(person) { id in
            timer = loop.schedule(after: deadline - .now()) { slots.giveUp(id, of: person) }
        }
        timer?.cancel()
        guard let slot else { throw tooMany() }
        return slot
    }

    private func tooMany() -> ServiceError {
        context.measured.limited.add()
        return ServiceError(
            .rateLimited, "Too many of your requests are under way. Try again in a moment.", retryAfter: 1)
    }
}
