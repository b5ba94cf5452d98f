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
    }

    private let bus: any MessageBus
    private let state: Mutex<State>

    /// The limit of the wait for Rooms, shorter than a request's deadline at the edge, so that waiting callers get
    /// the reason of the failure.
    private static let maxWait: Duration = .seconds(3)

    public init(_ bus: any MessageBus, maxBytes: Int = Memberships.standardMaxBytes) {
        self.bus = bus
        state = Mutex(State(known: Generations(maxBytes: maxBytes) { $0.approximateBytes }))
    }

    /// Calls the completion with the room's record: at once if it is cached, otherwise when the rooms
    /// service has replied. For one room, completions are called in the order of the calls.
    public func find(_ roomID: String, _ context: BusContext, _ completion: @escaping Completion) {
        take(roomID, context, completion) { $0.find(completion) }
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
        take(roomID, context, completion, runs: true) { $0.enter(completion) }
    }

    /// Ends a request in the room.
    func leave(_ roomID: String) {
        proceed(roomID) { turns in
            turns.leave()
            return false
        }
    }

    /// Calls the completion of a request, which found its record stale, with a newer record.
    ///
    /// - Parameter place: the request's place among those of its sender.
    func renew(_ stale: Membership, place: Int, _ context: BusContext, _ completion: @escaping Completion) {
        let roomID = stale.roomID
        state.withLock { _ = $0.known.remove(roomID) }
        proceed(roomID, context) { $0.renew(completion, place: place, after: stale.version) }
    }

    private func take(
        _ roomID: String, _ context: BusContext, _ completion: Completion, runs: Bool = false,
        _ wait: (inout RoomTurns<Completion>) -> Bool
    ) {
        enum Step {
            case known(Membership)
            case waiting(asks: Bool)
        }
        let step = state.withLock { state -> Step in
            if state.turns[roomID]?.isAsked != true, let membership = state.known.use(roomID) {
                if runs { state.turns[roomID, default: RoomTurns()].run() }
                return .known(membership)
            }
            return .waiting(asks: wait(&state.turns[roomID, default: RoomTurns()]))
        }
        switch step {
        case .known(let membership): completion(.success(membership))
        case .waiting(let asks):
            // The answer may be there already, and wait for requests that run.
            if asks { ask(roomID, context) } else { proceed(roomID, context) { _ in false } }
        }
    }

    // MARK: Asking

    private func ask(_ roomID: String, _ context: BusContext) {
        // The request is for all callers that will wait, so it has its own timeout: the first of them may
        // have little time left.
        let context = BusContext(
            requestID: context.requestID, timeout: Self.maxWait, key: roomID, trace: context.trace,
            isRepeatable: true)
        let data = JSONWriter.object { $0.member("roomId", roomID) }
        bus.ask(Subject.membership, data, context, of: "Rooms") { [self] result in
            proceed(roomID, context) { turns in
                turns.answered(Self.membership(result))
                return false
            }
        }
    }

    private static func membership(_ result: Result<Reply, ServiceError>) -> Result<Membership, ServiceError> {
        result.flatMap { reply in Membership(reply.data).map { .success($0) } ?? .failure(.noReply) }
    }

    /// Notes what has happened in a room, and calls the completions that this sets free, in order, including those added
    /// meanwhile.
    ///
    /// - Parameter change: returns true if the record has to be asked for.
    private func proceed(
        _ roomID: String, _ context: BusContext = BusContext(requestID: "membership"),
        _ change: (inout RoomTurns<Completion>) -> Bool
    ) {
        var step = state.withLock { state -> RoomTurns<Completion>.Step in
            if change(&state.turns[roomID, default: RoomTurns()]) { return .ask }
            return state.next(roomID)
        }
        while case .deliver(let completions, let answer) = step {
            for completion in completions { completion(answer) }
            step = state.withLock { $0.next(roomID, hasDelivered: true) }
        }
        if case .ask = step { ask(roomID, context) }
    }
}

extension Memberships.State {
    /// - Returns: the next step in a room: `deliver`, `ask` or `wait`.
    fileprivate mutating func next(
        _ roomID: String, hasDelivered: Bool = false
    ) -> RoomTurns<Memberships.Completion>.Step {
        guard var turns = turns[roomID] else { return .wait }
        // Taken out, so that it is not copied.
        self.turns[roomID] = nil
        let step = turns.next(hasDelivered: hasDelivered)
        // Only now does it reach new callers, who must not overtake those who waited.
        if case .finish(.success(let membership)) = step { known.put(membership, for: roomID) }
        if !turns.isIdle { self.turns[roomID] = turns }
        return step
    }
}

extension Membership {
    /// The bytes in memory: ids and names are short.
    fileprivate var approximateBytes: Int { 200 + 160 * participants.count }
}
