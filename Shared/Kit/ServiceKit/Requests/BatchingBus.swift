import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import Synchronization

/// A bus that combines requests on one subject while earlier ones are in progress, if the service accepts
/// batches.
///
/// A request is sent at once and alone while fewer than two messages are in progress: it never waits for a
/// batch to fill. Under load a service gets few messages with many requests, and answers each message over
/// one snapshot. Each request ends by its own deadline, however long others may wait. Use it for read-only
/// requests: those of one sender may be reordered.
public final class BatchingBus: ForwardingBus, DeadlineKeeper {
    public typealias Completion = @Sendable (Result<any BusPayload, BusError>) -> Void

    private struct Waiting: Sendable {
        /// The id in `State.pending`, until it is answered or its deadline passes.
        let id: UInt64
        let request: RequestBatch.Request
        let deadline: ContinuousClock.Instant
    }

    /// The requests of one subject.
    private struct SubjectQueue: Sendable {
        var inFlight = 0
        var lastSent = ContinuousClock.now
        var waiting: [Waiting] = []
        var waitingBytes = 0

        var isIdle: Bool { inFlight == 0 && waiting.isEmpty }
    }

    private struct State {
        var pending = PendingRequests<Completion>()
        var queues: [String: SubjectQueue] = [:]
    }

    /// The usual limit of messages in progress on one subject: as many as a database has threads that read.
    private static let usuallyInFlight = 2
    /// The limit of messages in progress if earlier ones take longer than `maxDelay`, as an instance may have
    /// stopped.
    private static let maxInFlight = 16
    private static let maxDelay: Duration = .milliseconds(100)
    /// The size over which a request is sent alone, so that others do not wait for it.
    private static let maxRequestBytes = 16 * 1024
    private static let maxBatchBytes = 256 * 1024
    /// The limit of one subject's queue. Other requests are refused, as they would be late in any case.
    private static let maxWaitingBytes = 8 << 20
    /// Requests with less time left than this are not sent, and fail at their deadline: no reply
    /// could arrive before it.
    private static let leastTime: Duration = .milliseconds(10)

    public let bus: any MessageBus
    private let takesBatches: @Sendable (_ subject: String) -> Bool
    private let state = Mutex(State())
    private let start = ContinuousClock.now
    private let alarm = DeadlineAlarm()

    /// - Parameter takesBatches: true if a subject's service accepts batches (`Manifest.batched`).
    public init(_ bus: any MessageBus, takesBatches: @escaping @Sendable (_ subject: String) -> Bool) {
        self.bus = bus
        self.takesBatches = takesBatches
    }

    public func request(_ subject: String, _ data: JSONValue, _ context: BusContext, completion: @escaping Completion) {
        guard takesBatches(subject), data.bytes.count <= Self.maxRequestBytes else {
            return bus.request(subject, data, context, completion: completion)
        }
        let request = RequestBatch.Request(data: data, context: context)
        let deadline = ContinuousClock.now + context.timeout
        let isTaken = state.withLock { state in
            // Take the queue out of the dictionary while it is changed: otherwise its array of waiting
            // requests would be copied.
            var queue = state.queues.removeValue(forKey: subject) ?? SubjectQueue()
            defer { state.queues[subject] = queue }
            guard queue.waitingBytes + request.size <= Self.maxWaitingBytes else { return false }
            let id = state.pending.insert(completion, deadline: start.duration(to: deadline))
            queue.waiting.append(Waiting(id: id, request: request, deadline: deadline))
            queue.waitingBytes += request.size
            return true
        }
        guard isTaken else { return completion(.failure(.slowConsumer)) }
        sendNext(on: subject)
        watch()
    }

    // MARK: Sending

    /// A message, from before it is sent until its reply has been passed on.
    private final class Flight: Sendable {
        /// True once the call that sends it has returned.
        let isOut = Atomic(false)
    }

    /// Sends waiting requests while the limit permits. A message that fails at once frees its slot again. So
    /// this is a loop: it sends the next message if one ends during `send`. If one ends later, its completion
    /// sends the next.
    private func sendNext(on subject: String) {
        while case let batch = state.withLock({ Self.nextBatch(on: subject, &$0) }), !batch.isEmpty {
            let flight = Flight()
            send(batch, on: subject) { [self] in
                leave(subject)
                if flight.isOut.load(ordering: .acquiring) { sendNext(on: subject) }
                watch()
            }
            flight.isOut.store(true, ordering: .releasing)
        }
    }

    private static func nextBatch(on subject: String, _ state: inout State) -> [Waiting] {
        guard var queue = state.queues.removeValue(forKey: subject) else { return [] }
        defer { state.queues[subject] = queue.isIdle ? nil : queue }
        let now = ContinuousClock.now
        let limit = now - queue.lastSent >= maxDelay ? maxInFlight : usuallyInFlight
        guard queue.inFlight < limit, !queue.waiting.isEmpty else { return [] }
        var batch: [Waiting] = []
        var bytes = 0
        var taken = 0
        for waiting in queue.waiting {
            guard batch.count < RequestBatch.maxCount, bytes + waiting.request.size <= maxBatchBytes else { break }
            taken += 1
            queue.waitingBytes -= waiting.request.size
            // Requests that have ended, or will before a reply arrives, are left to their deadline.
            guard state.pending[waiting.id] != nil, waiting.deadline - now > leastTime else { continue }
            bytes += waiting.request.size
            batch.append(waiting)
        }
        queue.waiting.removeFirst(taken)
        if !batch.isEmpty {
            queue.inFlight += 1
            queue.lastSent = now
        }
        return batch
    }

    private func send(_ batch: [Waiting], on subject: String, then ended: @escaping @Sendable () -> Void) {
        guard batch.count > 1 else { return ask(batch[0], on: subject, then: ended) }
        var context = BusContext(requestID: "batch", isRepeatable: true)
        // Each request also has its own deadline.
        context.timeout = ContinuousClock.now.duration(to: batch.reduce(.now) { max($0, $1.deadline) })
        bus.request(subject, RequestBatch.encode(batch.map(\.request)), context) { [self] reply in
            switch reply {
            case .success(let payload):
                let replies = payload.json
                guard let each = replies.array, (1...batch.count).contains(each.count) else {
                    refuse(batch, on: subject, replies)
                    break
                }
                // The batch's reply had no room for those to the other requests. They are sent again before later ones.
                putBack(batch.dropFirst(each.count), on: subject)
                for (one, reply) in zip(batch, each) { finish(one, .success(reply)) }
            case .failure(.lineTooLong):
                // The reply to the first request alone was too long: otherwise the batch's would contain the replies
                // that fit.
                putBack(batch.dropFirst(), on: subject)
                return ask(batch[0], on: subject, then: ended)
            case .failure(.refused):
                // A batch nests each request deeper than it is alone, so its line may be refused as malformed.
                // Send each request alone.
                for one in batch { ask(one, on: subject) {} }
            case .failure(let error): for one in batch { finish(one, .failure(error)) }
            }
            ended()
        }
    }

    /// Handles the refusal of a batch. An instance of an earlier version, which accepts no batches, calls it
    /// malformed: each request is then sent alone. Any other refusal applies to all of them.
    private func refuse(_ batch: [Waiting], on subject: String, _ reply: JSONValue) {
        let isUnknown = reply["error"]?["code"]?.string == ErrorCode.malformedRequest.rawValue
        for one in batch {
            if isUnknown { ask(one, on: subject) {} } else { finish(one, .success(reply)) }
        }
    }

    private func ask(_ one: Waiting, on subject: String, then ended: @escaping @Sendable () -> Void) {
        var context = one.request.context
        context.timeout = ContinuousClock.now.duration(to: one.deadline)
        context.isRepeatable = true
        bus.request(subject, one.request.data, context) { [self] reply in
            finish(one, reply)
            ended()
        }
    }

    private func putBack(_ batch: ArraySlice<Waiting>, on subject: String) {
        guard !batch.isEmpty else { return }
        state.withLock { state in
            state.queues[subject]?.waiting.insert(contentsOf: batch, at: 0)
            state.queues[subject]?.waitingBytes += batch.reduce(0) { $0 + $1.request.size }
        }
        watch()
    }

    private func finish(_ one: Waiting, _ reply: Result<any BusPayload, BusError>) {
        state.withLock { $0.pending.take(one.id) }?(reply)
    }

    /// Releases a slot.
    private func leave(_ subject: String) {
        state.withLock { state in
            state.queues[subject]?.inFlight -= 1
            if state.queues[subject]?.isIdle == true { state.queues[subject] = nil }
        }
    }

    // MARK: Time

    /// Ends requests whose deadline has passed, and sends waiting ones if earlier messages take long.
    package func expire() -> ContinuousClock.Instant? {
        let now = start.duration(to: .now)
        let (late, waiting) = state.withLock { state in
            (state.pending.expire(at: now), state.queues.filter { !$0.value.waiting.isEmpty }.map(\.key))
        }
        for completion in late { completion(.failure(.deadlineExceeded)) }
        for subject in waiting { sendNext(on: subject) }
        return nextLook()
    }

    /// Sets the alarm. To be called after a change that may make it due earlier.
    private func watch() { if let next = nextLook() { alarm.set(next, for: self) } }

    /// Returns the time of the next check: the next deadline, or the end of `maxDelay` after which waiting
    /// requests may be sent beside the messages in progress.
    private func nextLook() -> ContinuousClock.Instant? {
        state.withLock { state in
            let impatient = state.queues.values.lazy.filter { !$0.waiting.isEmpty && $0.inFlight < Self.maxInFlight }
                .map { $0.lastSent + Self.maxDelay }
            return earlier(state.pending.nextExpiry.map { start + $0 }, impatient.min())
        }
    }
}
