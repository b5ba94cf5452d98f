import ParlorContracts
import ParlorJSON
import ParlorLogging
import ParlorMessageBus
import ParlorReactor
import ParlorServiceClient
import ParlorServiceKit
import Synchronization

/// Asks services whether requests of clients may be forwarded to the services that handle them.
///
/// A check that was late several times in a row counts as unanswered at once, until a reply comes in time
/// (`CircuitBreakers`).
package final class RequestChecks: Sendable {
    private enum Verdict: Sendable {
        case allowed
        /// `badCode` is the code and the status that the check gave instead, for the log, if no client may get them.
        case denied(ServiceError, badCode: String? = nil)
        /// There is no valid reply.
        case unanswered(reason: String)
    }

    private let bus: any MessageBus
    private let log: Logger
    /// A check that is repeatedly late is not waited for, as every message would wait.
    private let breakers = CircuitBreakers()
    private let throttle = Mutex(LogThrottle())
    private let allowed: Counter
    private let denied: Counter
    private let unanswered: Counter

    /// - Parameter bus: keeps the order of requests with one key, so it must not batch them.
    package init(bus: any MessageBus, metrics: Metrics, log: Logger) {
        self.bus = bus
        self.log = log
        func counter(_ outcome: String) -> Counter {
            metrics.counter(
                "parlor_checks_total", "Checks before clients' requests, by outcome.", labels: ["outcome": outcome])
        }
        (allowed, denied, unanswered) = (counter("allowed"), counter("denied"), counter("unanswered"))
    }

    /// Asks all of these checks at once.
    ///
    /// - Parameter completion: called once, when each check is answered or late, maybe before this returns, on any
    ///   thread. Its argument is nil if the request may be forwarded. If a check denies it, the argument is the error
    ///   of the first denial in the order of `checks`. It is `service_unavailable` if a check that must be answered is
    ///   not, or if no time is left.
    package func ask(
        _ checks: [ServiceCheck], _ data: JSONValue, as caller: Caller, origin: RequestOrigin, key: String?,
        completion: @escaping @Sendable (ServiceError?) -> Void
    ) {
        let replies = Replies(count: checks.count)
        @Sendable func finish(_ verdict: Verdict, at index: Int) {
            guard let verdicts = replies.note(verdict, at: index) else { return }
            completion(denial(checks, verdicts, origin))
        }
        for (index, check) in checks.enumerated() {
            guard let declaration = check.declaration else {
                let verdict = Verdict.unanswered(reason: "not_announced")
                note(verdict, of: check, origin)
                finish(verdict, at: index)
                continue
            }
            var context = origin.context(for: caller, key: key ?? caller.id)
            // The request's own time may be almost over, which is no fault of the check.
            let hasTime = context.timeout >= declaration.deadline
            let asked = LoopInstant.now()
            guard breakers.allow(declaration.subject, hasTime: hasTime, at: asked) else {
                let verdict = Verdict.unanswered(reason: "late_repeatedly")
                note(verdict, of: check, origin)
                finish(verdict, at: index)
                continue
            }
            context.timeout = min(context.timeout, declaration.deadline)
            bus.request(declaration.subject, data, context) { [self] reply in
                let verdict = Self.verdict(of: reply, isLong: data.bytes.count > BusLimits.maxLine / 2)
                if hasTime || !reply.isLate {
                    breakers.note(isLate: reply.isLate, declaration.subject, asked: asked)
                    note(verdict, of: check, origin)
                }
                finish(verdict, at: index)
            }
        }
    }

    /// Asks all of these checks at once. If there are none, it returns immediately.
    ///
    /// - Throws: the error that `ask` passes to its completion.
    package func pass(
        _ checks: [ServiceCheck], _ data: JSONValue, as caller: Caller, origin: RequestOrigin, key: String?
    ) async throws(ServiceError) {
        guard !checks.isEmpty else { return }
        let denial = await withCheckedContinuation { continuation in
            ask(checks, data, as: caller, origin: origin, key: key) { continuation.resume(returning: $0) }
        }
        if let denial { throw denial }
    }

    /// - Parameter isLong: true if the request is so long that it, and not the reply, is over the bus's limit.
    private static func verdict(of reply: Result<any BusPayload, BusError>, isLong: Bool) -> Verdict {
        switch reply {
        case .success(let payload):
            do throws(ServiceError) {
                _ = try Reply(payload)
                return .allowed
            } catch  where error == .noReply {
                return .unanswered(reason: "malformed")
            } catch  where error.code == .internal || error.code == .serviceUnavailable {
                // A code that the gateway does not know is read as `internal`, but it is a denial.
                if let badCode = payload.json["error"]?.object?.refusedCode {
                    return .denied(ServiceError(.forbidden, error.message), badCode: badCode)
                }
                return .unanswered(reason: error.code.rawValue)
            } catch {
                return .denied(error)
            }
        // The check's request is too long for the bus. Deny the client's request: its own subject may be shorter, so it
        // could fit, and would pass unchecked.
        case .failure(.lineTooLong) where isLong:
            return .denied(ServiceError(.payloadTooLarge, "The request is too large."))
        case .failure(.malformedReply): return .unanswered(reason: "malformed")
        case .failure(let error): return .unanswered(reason: error.code)
        }
    }

    private func note(_ verdict: Verdict, of check: ServiceCheck, _ origin: RequestOrigin) {
        switch verdict {
        case .allowed: allowed.add()
        case .denied(_, let badCode):
            denied.add()
            guard let badCode else { return }
            warn("a check denies with an error that is not allowed, so clients get `forbidden`", badCode, check, origin)
        case .unanswered(let reason):
            unanswered.add()
            warn("a check is not answered", reason, check, origin)
        }
    }

    private func warn(_ message: StaticString, _ reason: String, _ check: ServiceCheck, _ origin: RequestOrigin) {
        let subject = check.declaration?.subject ?? ""
        guard throttle.withLock({ $0.note("\(check.before) \(subject) \(reason)", of: check.service) }) else { return }
        log.warning(
            "\(message)",
            [
                "name": check.service, "subject": subject, "before": check.before, "reason": reason,
                "outcome": check.whenAway.rawValue, "request": origin.id,
            ])
    }

    private func denial(
        _ checks: [ServiceCheck], _ verdicts: [Verdict], _ origin: RequestOrigin
    ) -> ServiceError? {
        for verdict in verdicts { if case .denied(let error, _) = verdict { return error } }
        for (check, verdict) in zip(checks, verdicts) {
            if case .unanswered = verdict, check.whenAway == .deny {
                return ServiceError(.serviceUnavailable, "This cannot be checked right now. Try again in a moment.")
            }
        }
        // A check that ended because the request's time is over says nothing about the request.
        return origin.timeLeft > .zero ? nil : .unavailable("This part of the service")
    }

    /// The verdicts of the checks of one request, until all are known.
    private final class Replies: Sendable {
        private let verdicts: Mutex<[Verdict?]>

        init(count: Int) { verdicts = Mutex(Array(repeating: nil, count: count)) }

        /// - Returns: all verdicts, once this is the last one.
        func note(_ verdict: Verdict, at index: Int) -> [Verdict]? {
            verdicts.withLock { verdicts in
                verdicts[index] = verdict
                let known = verdicts.compactMap(\.self)
                return known.count == verdicts.count ? known : nil
            }
        }
    }
}

extension Result where Success == any BusPayload, Failure == BusError {
    fileprivate var isLate: Bool { if case .failure(.deadlineExceeded) = self { true } else { false } }
}
