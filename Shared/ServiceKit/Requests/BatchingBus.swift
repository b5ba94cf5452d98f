import JSON
import MessageBus
import Synchronization

/// A bus that sends questions on one subject together while earlier ones are under way, where the service takes them so.
///
/// A question that finds nothing under way goes out at once and alone, so nobody waits for company; under load a service
/// gets few requests with many questions, and answers those of each over one snapshot. What one sender asks is still asked
/// in order.
public final class BatchingBus: MessageBus {
    private struct Waiting: Sendable {
        let question: RequestBatch.Question
        let deadline: ContinuousClock.Instant
        let completion: @Sendable (Result<JSONValue, BusError>) -> Void
    }

    private struct Lane: Sendable {
        var underWay = 0
        var waiting: [Waiting] = []
    }

    /// Requests on one subject at a time: as many as a database has threads that read.
    private static let maxUnderWay = 2
    /// Questions that wait for one subject. More are refused: the last of them would be late in any case.
    private static let maxWaiting = 16_384
    /// A longer question is no reason to make others wait for it: it goes alone.
    private static let maxQuestionBytes = 16 * 1024

    private let bus: any MessageBus
    private let takesBatches: @Sendable (_ subject: String) -> Bool
    private let lanes = Mutex<[String: Lane]>([:])

    /// - Parameter takesBatches: whether a subject's service has said that it takes batches (`Manifest.batched`).
    public init(_ bus: any MessageBus, takesBatches: @escaping @Sendable (_ subject: String) -> Bool) {
        self.bus = bus
        self.takesBatches = takesBatches
    }

    public func request(
        _ subject: String, _ data: JSONValue, _ context: BusContext,
        completion: @escaping @Sendable (Result<JSONValue, BusError>) -> Void
    ) {
        guard takesBatches(subject), data.bytes.count <= Self.maxQuestionBytes else {
            return bus.request(subject, data, context, completion: completion)
        }
        let waiting = Waiting(
            question: RequestBatch.Question(data: data, context: context), deadline: .now + context.timeout,
            completion: completion)
        switch enter(waiting, subject) {
        case .goes: send([waiting], on: subject)
        case .waits: break
        case .refused: completion(.failure(.slowConsumer))
        }
    }

    private enum Entry { case goes, waits, refused }

    private func enter(_ one: Waiting, _ subject: String) -> Entry {
        lanes.withLock { lanes in
            if lanes[subject, default: Lane()].underWay < Self.maxUnderWay {
                lanes[subject, default: Lane()].underWay += 1
                return .goes
            }
            guard lanes[subject, default: Lane()].waiting.count < Self.maxWaiting else { return .refused }
            lanes[subject, default: Lane()].waiting.append(one)
            return .waits
        }
    }

    private func send(_ batch: [Waiting], on subject: String) {
        guard batch.count > 1 else {
            for one in batch {
                ask(one, on: subject) { [self] answer in
                    sendNext(on: subject)
                    one.completion(answer)
                }
            }
            return
        }
        var context = batch[0].question.context
        // Whoever has the least time left must not be kept longer.
        context.timeout = batch.reduce(.seconds(3600)) { min($0, ContinuousClock.now.duration(to: $1.deadline)) }
        context.caller = nil
        context.key = nil
        bus.request(subject, RequestBatch.encode(batch.map(\.question)), context) { [self] answer in
            switch answer {
            case .success(let answers):
                if let each = answers.array, (1...batch.count).contains(each.count) {
                    // What had no room is asked anew, before what came later.
                    let rest = Array(batch.dropFirst(each.count))
                    if rest.isEmpty { sendNext(on: subject) } else { send(rest, on: subject) }
                    for (one, answer) in zip(batch, each) { one.completion(.success(answer)) }
                    return
                }
                for one in batch { one.completion(.success(answers)) }
            // Alone each may fit.
            case .failure(.lineTooLong): for one in batch { ask(one, on: subject, completion: one.completion) }
            case .failure(let error): for one in batch { one.completion(.failure(error)) }
            }
            sendNext(on: subject)
        }
    }

    private func ask(
        _ one: Waiting, on subject: String, completion: @escaping @Sendable (Result<JSONValue, BusError>) -> Void
    ) {
        var context = one.question.context
        context.timeout = ContinuousClock.now.duration(to: one.deadline)
        bus.request(subject, one.question.data, context, completion: completion)
    }

    /// A place has become free.
    private func sendNext(on subject: String) {
        let (late, batch) = lanes.withLock { lanes -> ([Waiting], [Waiting]) in
            guard var lane = lanes[subject] else { return ([], []) }
            // They came in order, and one subject's questions have about the same patience.
            let now = ContinuousClock.now
            let late = Array(lane.waiting.prefix { $0.deadline <= now })
            let batch = Array(lane.waiting.dropFirst(late.count).prefix(RequestBatch.maxCount))
            lane.waiting.removeFirst(late.count + batch.count)
            if batch.isEmpty { lane.underWay -= 1 }
            lanes[subject] = lane.underWay == 0 ? nil : lane
            return (late, batch)
        }
        if !batch.isEmpty { send(batch, on: subject) }
        for one in late { one.completion(.failure(.deadlineExceeded)) }
    }

    // MARK: As the other

    public func publish(_ subject: String, _ data: JSONValue) throws(BusError) { try bus.publish(subject, data) }

    @discardableResult
    public func subscribe(
        _ pattern: String, queue: String?, _ handler: @escaping @Sendable (BusMessage) -> Void
    ) throws(BusError) -> BusSubscription {
        try bus.subscribe(pattern, queue: queue, handler)
    }

    @discardableResult
    public func respond(
        to pattern: String, queue: String, _ handler: @escaping @Sendable (BusRequest) -> Void
    ) throws(BusError) -> BusSubscription {
        try bus.respond(to: pattern, queue: queue, handler)
    }

    public var isConnected: Bool { bus.isConnected }

    @discardableResult
    public func onStateChange(_ handler: @escaping @Sendable (BusState) -> Void) -> BusSubscription {
        bus.onStateChange(handler)
    }

    public func flush() async throws(BusError) { try await bus.flush() }
    public func close() async { await bus.close() }
}
