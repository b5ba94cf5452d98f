import ParlorContracts

/// Who runs with a room's record, and who waits for one, as a value without I/O.
///
/// Requests that find their record stale are repeated with a newer one in the order in which they came. That waits until
/// none runs with the stale record any more, and later requests wait behind. So a sender's requests stay in order.
struct RoomTurns<Waiter> {
    enum Change {
        /// A caller wants the record alone.
        case find(Waiter)
        /// A request waits for the record.
        case enter(Waiter)
        /// A request runs with a record of the cache.
        case run
        /// A request that ran has ended.
        case leave
        /// A request that ran found its record, of this version, stale. `place` is its place among those of its sender.
        case renew(Waiter, place: Int, after: Int)
        /// The reply to the step `ask`.
        case answer(Result<Membership, ServiceError>)
        /// The step `deliver` is done.
        case delivered
    }

    /// What a change makes necessary, without the lock that guards this value.
    enum Step {
        case deliver([Waiter], Result<Membership, ServiceError>)
        case ask
        /// Nobody waits any more; the record is for the cache.
        case finish(Result<Membership, ServiceError>)
        /// Another change goes on.
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

    mutating func note(_ change: Change) -> Step {
        switch change {
        case .find(let waiter): finding.append(waiter)
        case .enter(let waiter): entering.append(waiter)
        case .run: running += 1
        case .leave: running -= 1
        case .renew(let waiter, let place, let version):
            running -= 1
            if case .success(let answer)? = answer, answer.version <= version {
                staleAgain.append((place, waiter))
            } else {
                stale.append((place, waiter))
            }
        case .answer(let answer): self.answer = answer
        case .delivered: isDelivering = false
        }
        return next()
    }

    private mutating func next() -> Step {
        guard !isDelivering else { return .wait }
        guard let answer else {
            guard !isAsked, !(finding.isEmpty && entering.isEmpty && stale.isEmpty) else { return .wait }
            isAsked = true
            return .ask
        }
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
}

extension RoomTurns: Sendable where Waiter: Sendable {}
extension RoomTurns.Step: Sendable where Waiter: Sendable {}
extension RoomTurns.Change: Sendable where Waiter: Sendable {}
