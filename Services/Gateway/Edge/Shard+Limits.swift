import Contracts
import Reactor

// Rate limits: what a service declares of its routes and events is counted here.
extension Shard {
    /// Does what counts against these limits, or refuses it.
    ///
    /// A limit of failures counts beforehand, too, and gets back what was none: guesses at a password that are sent together
    /// would all pass if each were counted with its answer.
    ///
    /// - Throws: `rate_limited`; else what the work throws.
    func limited<Answer>(
        by names: [String], in catalog: Catalog, person: String?, address: IPAddress,
        _ work: () async throws(ServiceError) -> Answer
    ) async throws(ServiceError) -> Answer {
        let limits = names.compactMap { catalog.limits[$0] }
        if let wait = context.limiter.take(limits, person: person, address: address, now: monotonicMilliseconds) {
            throw ServiceError(.rateLimited, "That was too often. Try again in \(wait) s.", retryAfter: wait)
        }
        var hasFailed = false
        defer {
            if !hasFailed {
                context.limiter.giveBack(
                    limits.filter { $0.counted == .failures }, person: person, address: address,
                    now: monotonicMilliseconds)
            }
        }
        do throws(ServiceError) {
            return try await work()
        } catch {
            hasFailed = error.code == .invalidCredentials
            throw error
        }
    }

    private var monotonicMilliseconds: Int { (loop.now - LoopInstant(nanoseconds: 0)).milliseconds }
}
