import ParlorContracts
import ParlorSecurity
import ParlorText
import ParlorWorkers

/// Hashes and checks passwords on the service's worker threads. One hash takes a fifth of a second of a core,
/// and 16 MiB. Addresses take turns, so that one with many sign-ins does not block others.
struct PasswordChecker: Sendable {
    let pool: FairPool
    let cost: PasswordHash.Cost
    let randomness: any Randomness

    /// Creates a checker. One network may use all threads but one; with one thread, networks take turns. An address may have as many waiting hashes
    /// as can finish before their callers give up. The total limit is four times that of one network: more
    /// than four networks rarely sign in at the same time.
    init(_ workers: WorkerPool, cost: PasswordHash.Cost, randomness: any Randomness) {
        pool = FairPool(
            workers,
            .init(
                inFlightOfNetwork: max(1, workers.threadCount - 1), waitingOfAddress: 8, waitingOfNetwork: 16,
                waiting: 64))
        self.cost = cost
        self.randomness = randomness
    }

    enum Verdict: Sendable {
        case wrong
        /// The password is right. `raised` is a hash with the current cost; nil unless the stored one costs less.
        case right(raised: String?)
    }

    /// - Throws: `rate_limited` or `service_unavailable`, if work for this client would be refused now.
    func admit(_ client: SigningClient) throws(ServiceError) {
        if let refusal = pool.refusal(of: client.party) { throw Self.error(refusal) }
    }

    func hash(
        _ password: Password, for client: SigningClient, by deadline: ContinuousClock.Instant?
    ) async throws -> String {
        try await run(for: client, by: deadline) { [self] in try make(password.text) }
    }

    /// Checks a password. A wrong one takes the same time whether there is a hash or not, and however old the hash is.
    ///
    /// - Parameter hash: the result of `hash(_:for:by:)`; nil for a person who does not exist.
    func check(
        _ password: String, against hash: String?, for client: SigningClient, by deadline: ContinuousClock.Instant?
    ) async throws -> Verdict {
        let forms = Self.forms(of: password)
        return try await run(for: client, by: deadline) { [self] in
            guard let stored = hash.flatMap(PasswordHash.init) else {
                for form in forms { try PasswordHash.verifyAgainstNobody(form, cost: cost) }
                return .wrong
            }
            // Each form is tried, whatever comes of the first.
            let matches = try forms.map { try stored.matches($0, takingAsLongAs: cost) }
            guard matches.contains(true) else { return .wrong }
            return .right(raised: !matches[0] || stored.isCheaper(than: cost) ? try make(forms[0]) : nil)
        }
    }

    /// - Returns: the new password's hash; nil if the current one is wrong.
    func replace(
        _ current: String, by new: Password, against hash: String, for client: SigningClient,
        by deadline: ContinuousClock.Instant?
    ) async throws -> String? {
        guard Password.mayBeOne(current) else { return nil }
        return try await run(for: client, by: deadline) { [self] in
            guard let stored = PasswordHash(hash),
                try Self.forms(of: current).contains(where: { try stored.matches($0) })
            else { return nil }
            return try make(new.text)
        }
    }

    /// Returns the texts that a hash may be of: the normal form first, then the text as it was sent, if that differs. Earlier
    /// versions hashed that one.
    private static func forms(of password: String) -> [String] {
        let normal = password.inNormalForm
        return normal.utf8.elementsEqual(password.utf8) ? [normal] : [normal, password]
    }

    private func make(_ password: String) throws -> String {
        try PasswordHash(of: password, cost: cost, randomness: randomness).text
    }

    /// The deadline of callers without one, as in tests.
    private static let maxWait: Duration = .seconds(60)

    private func run<T: Sendable>(
        for client: SigningClient, by deadline: ContinuousClock.Instant?, _ body: @escaping @Sendable () throws -> T
    ) async throws -> T {
        do {
            let result = try await pool.run(for: client.party, by: deadline ?? .now + Self.maxWait, body)
            // The caller has been told that it failed, so nothing may be written.
            if let deadline, deadline <= .now { throw FairPoolRefusal.late }
            return result
        } catch let refusal as FairPoolRefusal {
            throw Self.error(refusal)
        }
    }

    private static func error(_ refusal: FairPoolRefusal) -> ServiceError {
        switch refusal {
        case .share:
            ServiceError(.rateLimited, "Too many sign-ins from your network. Try again.", retryAfter: retryAfter)
        case .busy, .late:
            ServiceError(
                .serviceUnavailable, "Too many people are signing in at once. Try again.", retryAfter: retryAfter)
        }
    }

    /// The seconds to wait after a refusal: waiting checks are done or abandoned by then.
    private static let retryAfter = 3
}
