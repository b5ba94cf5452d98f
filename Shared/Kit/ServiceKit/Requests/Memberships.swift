import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceClient
import Synchronization

/// The participants of rooms, requested from the rooms service once and then cached.
///
/// An entry never becomes stale, because a room's participants never change. The least recently used rooms
/// are evicted: at most twice `generationSize` are cached.
public final class Memberships: Sendable {
    public typealias Completion = @Sendable (Result<Membership, ServiceError>) -> Void

    /// The rooms in a generation: at half a kilobyte each, two generations stay under 20 MB.
    public static let standardGenerationSize = 20_000

    private struct State {
        var known: Generations<String, Membership>
        /// The callers that wait for a room's reply, in order.
        var waiting: [String: [Completion]] = [:]
    }

    private let bus: any MessageBus
    private let state: Mutex<State>

    /// The limit of the wait, shorter than a request's deadline at the edge, so that waiting callers get the
    /// reason of the failure.
    private static let maxWait: Duration = .seconds(3)

    public init(_ bus: any MessageBus, generationSize: Int = Memberships.standardGenerationSize) {
        self.bus = bus
        state = Mutex(State(known: Generations(maxCount: generationSize)))
    }

    /// Calls the completion with the room's membership: at once if it is cached, otherwise when the rooms
    /// service has replied. For one room, completions are called in the order of the calls.
    public func find(_ roomID: String, _ context: BusContext, _ completion: @escaping Completion) {
        enum Step {
            case known(Membership)
            case waiting, ask
        }
        let step = state.withLock { state -> Step in
            if state.waiting[roomID] != nil {
                state.waiting[roomID]?.append(completion)
                return .waiting
            }
            if let membership = state.known.use(roomID) { return .known(membership) }
            state.waiting[roomID] = [completion]
            return .ask
        }
        switch step {
        case .known(let membership): completion(.success(membership))
        case .waiting: break
        case .ask:
            // The request is for all callers that will wait, so it has its own timeout: the first of them may
            // have little time left.
            let context = BusContext(
                requestID: context.requestID, timeout: Self.maxWait, key: roomID, trace: context.trace,
                isRepeatable: true)
            let data = JSONWriter.object { $0.member("roomId", roomID) }
            bus.ask(Subject.membership, data, context, of: "Rooms") { [self] result in
                finish(roomID, Self.membership(result))
            }
        }
    }

    public func find(_ roomID: String, _ context: BusContext) async throws -> Membership {
        try await withCheckedThrowingContinuation { continuation in
            find(roomID, context) { continuation.resume(with: $0) }
        }
    }

    private static func membership(_ result: Result<Reply, ServiceError>) -> Result<Membership, ServiceError> {
        result.flatMap { reply in Membership(reply.data).map { .success($0) } ?? .failure(.noReply) }
    }

    /// Calls all waiting completions in order, including those added meanwhile. Only then is the membership
    /// cached for new callers.
    private func finish(_ roomID: String, _ result: Result<Membership, ServiceError>) {
        while true {
            let batch = state.withLock { state -> [Completion] in
                let batch = state.waiting[roomID] ?? []
                if batch.isEmpty {
                    state.waiting[roomID] = nil
                    if case .success(let membership) = result { state.known.put(membership, for: roomID) }
                } else {
                    state.waiting[roomID] = []
                }
                return batch
            }
            if batch.isEmpty { return }
            for completion in batch { completion(result) }
        }
    }
}
