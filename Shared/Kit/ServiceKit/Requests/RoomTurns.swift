import ParlorContracts

/// Who runs with a room's record, and who waits for one, as a value without I/O.
///
/// Requests that find their record stale are repeated with a newer one in the order in which they came. That waits until
/// none runs with the stale record any more, and later requests wait behind. So a sender's requests stay in order.
struct RoomTurns<Waiter> {
    /// What to do next, without the lock that guards this value.
    enum Step {
        case deliver([Waiter], Result<Membership, ServiceError>)
        /// Ask for the record, and call `answered`.
        case ask
        /// Nobody waits any more; the record is for the cache.
        case finish(Result<Membership, ServiceError>)
        /// Another call goes on.
        case wait
    }

    /// The requests that run with a record.
    private var running = 0
    /// True while the record is asked for, and until all who waited for it have it.
    private(set) var isAsked = false
    private var answer: Result<Membership, ServiceError>?
    /// True while a step `deliver` is in progress.
    private var isDelivering = false
    /// True once requests were delivered the answer.
    private var hasBegun = false

    /// Callers that want the record alone.
    private var finding: [Waiter] = []
    /// Requests that found their record stale, in any order: an answer may overtake the one before.
    private var stale: [(place: Int, waiter: Waiter)] = []
    /// Requests that came while the record is asked for.
    private var entering: [Waiter] = []
    /// Requests that found the answer stale.
    private var staleAgain: [(place: Int, waiter: Waiter)] = []

    /// True if there is nothing to remember.
    var isIdle: Bool { running == 0 && !isAsked }

    /// Adds a caller that wants the record alone.
    ///
    /// - Returns: true if the record has to be asked for.
    mutating func find(_ waiter: Waiter) -> Bool {
        finding.append(waiter)
        return asks()
    }

    /// Adds a request that waits for the record.
    ///
    /// - Returns: true if the record has to be asked for.
    mutating func enter(_ waiter: Waiter) -> Bool {
        entering.append(waiter)
        return asks()
    }

    /// Notes a request that runs with a record of the cache.
    mutating func run() { running += 1 }

    /// Notes the end of a request that ran.
    mutating func leave() { running -= 1 }

    /// Notes that a request that ran found its record stale, and waits for a newer one.
    ///
    /// - Parameter place: the request's place among those of its sender.
    /// - Returns: true if the record has to be asked for.
    mutating func renew(_ waiter: Waiter, place: Int, after version: Int) -> Bool {
        running -= 1
        if case .success(let answer)? = answer, answer.version <= version {
            staleAgain.append((place, waiter))
            return false
        }
        stale.append((place, waiter))
        return asks()
    }

    mutating func answered(_ answer: Result<Membership, ServiceError>) { self.answer = answer }

    /// Call it after `leave`, `renew` and `answered`.
    ///
    /// - Parameter hasDelivered: true if the caller has done the step `deliver`.
    mutating func next(hasDelivered: Bool = false) -> Step {
        if hasDelivered { isDelivering = false }
        guard let answer, !isDelivering else { return .wait }
        if !finding.isEmpty {
            defer { finding = [] }
            return deliver(finding, answer)
        }
        // There is no order of failures.
        guard hasBegun || running == 0 || (try? answer.get()) == nil else { return .wait }
        hasBegun = true
        let requests = stale.sorted { $0.place < $1.place }.map(\.waiter) + entering
        (stale, entering) = ([], [])
        if !requests.isEmpty {
            if case .success = answer { running += requests.count }
            return deliver(requests, answer)
        }
        (self.answer, hasBegun) = (nil, false)
        if staleAgain.isEmpty {
            isAsked = false
            return .finish(answer)
        }
        swap(&stale, &staleAgain)
        return .ask
    }

    private mutating func deliver(_ waiters: [Waiter], _ answer: Result<Membership, ServiceError>) -> Step {
        isDelivering = true
        return .deliver(waiters, answer)
    }

    private mutating func asks() -> Bool {
        defer { isAsked = true }
        return !isAsked
    }
}
