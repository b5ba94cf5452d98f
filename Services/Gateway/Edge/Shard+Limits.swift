import Contracts
import HTTP
import Reactor

/// Something that rate limits let pass, until it is known how it ended.
struct LimitPass {
    fileprivate let failures: [RateLimit]
    fileprivate let person: String?
    fileprivate let address: IPAddress
}

// Rate limits: what a service declares of its routes and events is counted here.
extension Shard {
    /// Counts one more against these limits, or refuses it. `settle` follows.
    ///
    /// A limit of failures counts beforehand, too, and gets back what was none: guesses at a password that are sent together
    /// would all pass if each were counted with its answer.
    ///
    /// - Throws: `rate_limited`.
    func passLimits(
        _ names: [String], in catalog: Catalog, person: String?, address: IPAddress
    ) throws(ServiceError) -> LimitPass {
        let limits = names.compactMap { catalog.limits[$0] }
        if let wait = context.limiter.take(limits, person: person, address: address, now: monotonicMilliseconds) {
            throw ServiceError(.rateLimited, "That was too often. Try again in \(wait) s.", retryAfter: wait)
        }
        return LimitPass(failures: limits.filter { $0.counted == .failures }, person: person, address: address)
    }

    /// It has ended: with this error, or well.
    func settle(_ pass: LimitPass, _ error: ServiceError?) {
        if error?.code == .invalidCredentials || pass.failures.isEmpty { return }
        context.limiter.giveBack(
            pass.failures, person: pass.person, address: pass.address, now: monotonicMilliseconds)
    }

    /// Does what counts against these limits, or refuses it.
    ///
    /// - Throws: `rate_limited`; else what the work throws.
    func limited<Answer>(
        by names: [String], in catalog: Catalog, person: String?, address: IPAddress,
        _ work: () async throws(ServiceError) -> Answer
    ) async throws(ServiceError) -> Answer {
        let pass = try passLimits(names, in: catalog, person: person, address: address)
        do throws(ServiceError) {
            let answer = try await work()
            settle(pass, nil)
            return answer
        } catch {
            settle(pass, error)
            throw error
        }
    }

    /// Counts one more request of this address, or says how long it has to wait.
    func secondsToWait(of client: IPAddress) -> Int? {
        context.limiter.take(
            [GatewaySettings.requests], person: nil, address: client, now: monotonicMilliseconds)
    }

    /// Large bodies are taken from those who are logged in: an unfinished one is memory.
    ///
    /// - Parameter request: without its body.
    func refusal(ofLargeBody request: HTTPRequest) -> ServiceError? {
        if context.tokens.verify(authorization: request.headers["Authorization"]) != nil { return nil }
        if let segments = request.pathSegments,
            case .route(let route, _) = context.directory.catalog.routes.match(request.method, segments),
            !route.needsLogin
        {
            return ServiceError(.payloadTooLarge, "The body is too large for this address.")
        }
        return ServiceError(.unauthenticated, "Log in first.")
    }

    private var monotonicMilliseconds: Int { (loop.now - LoopInstant(nanoseconds: 0)).milliseconds }
}
