import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceClient
import Synchronization

/// The records of rooms, requested from the rooms service and then cached until a fence shows that one is stale.
///
/// The least recently used records are evicted: at most twice `maxBytes` are cached.
public final class Memberships: Sendable {
    public typealias Completion = @Sendable (Result<Membership, ServiceError>) -> Void

    /// The bytes of the records in a generation: those of some 20,000 rooms of two people.
    public static let standardMaxBytes = 10 << 20

    fileprivate struct State {
        var known: Generations<String, Membership>
        /// The rooms whose record is asked for, or in which requests are in progress.
        var turns: [String: RoomTurns<Completion>] = [:]
        /// The lowest version that may be used, of rooms whose record was found stale and is asked for.
        var fences: [String: Int] = [:]
        /// The versions below which records are not cached: an older reply may be in progress.
        var lowest = Generations<String, Int>(maxCount: 10_000)
    }

    private let bus: any MessageBus
    /// The name under which Rooms has changes of the records confirmed; nil for a gateway, which confirms them itself.
    private let keeper: String?
    private let state: Mutex<State>

    /// The limit of the wait for Rooms, shorter than a request's deadline at the edge, so that waiting callers get
    /// the reason of the failure.
    private static let maxWait: Duration = .seconds(3)

    public init(_ bus: any MessageBus, keeper: String? = nil, maxBytes: Int = Memberships.standardMaxBytes) {
        self.bus = bus
        self.keeper = keeper
        state = Mutex(State(known: Generations(maxBytes: maxBytes) { $0.approximateBytes }))
    }

    /// Calls the completion with the room's record: at once if it is cached, otherwise when the rooms
    /// service has replied. For one room, completions are called in the order of the calls.
    public func find(_ roomID: String, _ context: BusContext, _ completion: @escaping Completion) {
        take(roomID, context, completion, ifKnown: nil, else: .find(completion))
    }

    public func find(_ roomID: String, _ context: BusContext) async throws -> Membership {
        try await withCheckedThrowingContinuation { continuation in
            find(roomID, context) { continuation.resume(with: $0) }
        }
    }

    // MARK: Requests in rooms

    /// Like `find`, for a request in the room. If it gets a record, a call of `leave` or `renew` follows.
    ///
    /// While requests of the room are repeated with a newer record, later ones wait behind them.
    func enter(_ roomID: String, _ context: BusContext, _ completion: @escaping Completion) {
        take(roomID, context, completion, ifKnown: .run, else: .enter(completion))
    }

    /// Ends a request in the room.
    func leave(_ roomID: String) { note(.leave, roomID) }

    /// Calls the completion of a request, which found its record stale, with a newer record.
    ///
    /// - Parameters:
    ///   - fence: the lowest version that may be used. Rooms, if it was restored from a backup, raises its own to that.
    ///   - place: the request's place among those of its sender.
    func renew(
        _ stale: Membership, atLeast fence: Int, place: Int, _ context: BusContext, _ completion: @escaping Completion
    ) {
        state.withLock { $0.fences[stale.roomID] = max(fence, $0.fences[stale.roomID] ?? 0) }
        note(.renew(completion, place: place, after: stale.version), stale.roomID, context)
    }

    /// Drops the cached record if its version is lower.
    public func forget(_ roomID: String, below version: Int) {
        state.withLock { state in
            state.lowest.put(version, for: roomID)
            guard let known = state.known[roomID], known.version < version else { return }
            state.known.remove(roomID)
        }
    }

    /// Drops all cached records.
    public func forgetAll() { state.withLock { $0.known.removeAll() } }

    private func take(
        _ roomID: String, _ context: BusContext, _ completion: Completion,
        ifKnown: RoomTurns<Completion>.Change?, else waits: RoomTurns<Completion>.Change
    ) {
        let (known, step) = state.withLock { state -> (Membership?, RoomTurns<Completion>.Step) in
            let isAsked = state.turns[roomID]?.isAsked ?? false
            let known = isAsked ? nil : state.known.use(roomID)
            let change = known == nil ? waits : ifKnown
            return (known, change.map { state.note($0, roomID) } ?? .wait)
        }
        if let known { completion(.success(known)) } else { perform(step, roomID, context) }
    }

    // MARK: Asking

    private func ask(_ roomID: String, _ context: BusContext) {
        // The request is for all callers that will wait, so it has its own timeout: the first of them may
        // have little time left.
        let context = BusContext(
            requestID: context.requestID, timeout: Self.maxWait, key: roomID, trace: context.trace,
            isRepeatable: true)
        let fence = state.withLock { $0.fences.removeValue(forKey: roomID) }
        let data = JSONWriter.object {
            $0.member("roomId", roomID)
            if let keeper { $0.member("keeper", keeper) }
            if let fence { $0.member("atLeast", fence) }
        }
        bus.ask(Subject.membership, data, context, of: "Rooms") { [self] result in
            note(.answer(Self.membership(result)), roomID, context)
        }
    }

    private static func membership(_ result: Result<Reply, ServiceError>) -> Result<Membership, ServiceError> {
        result.flatMap { reply in Membership(reply.data).map { .success($0) } ?? .failure(.noReply) }
    }

    /// Notes a change in a room, and does what it makes necessary.
    private func note(
        _ change: RoomTurns<Completion>.Change, _ roomID: String,
        _ context: BusContext = BusContext(requestID: "membership")
    ) {
        perform(state.withLock { $0.note(change, roomID) }, roomID, context)
    }

    /// Does a step and those that follow it. Completions are called in order, including those added meanwhile.
    private func perform(_ first: RoomTurns<Completion>.Step, _ roomID: String, _ context: BusContext) {
        var step = first
        while case .deliver(let completions, let answer) = step {
            for completion in completions { completion(answer) }
            step = state.withLock { $0.note(.delivered, roomID) }
        }
        if case .ask = step { ask(roomID, context) }
    }
}

extension Memberships.State {
    /// - Returns: the step that a change in a room makes necessary.
    fileprivate mutating func note(
        _ change: RoomTurns<Memberships.Completion>.Change, _ roomID: String
    ) -> RoomTurns<Memberships.Completion>.Step {
        // Taken out, so that it is not copied.
        var turns = turns.removeValue(forKey: roomID) ?? RoomTurns()
        let step = turns.note(change)
        switch step {
        // The cached record is stale, if there is one.
        case .ask: known.remove(roomID)
        // Only now does it reach new callers, who must not overtake those who waited.
        case .finish(.success(let membership)):
            if membership.version >= lowest[roomID] ?? 0 { known.put(membership, for: roomID) }
        default: break
        }
        if !turns.isIdle { self.turns[roomID] = turns }
        return step
    }
}

extension Membership {
    /// The bytes in memory: ids and names are short.
    fileprivate var approximateBytes: Int { 200 + 160 * participants.count }
}
