import Contracts
import JSON
import MessageBus
import Reactor
import Storage
import Synchronization

/// Runs a service on a bus: answers its requests, announces it, publishes its event log.
public final class ServiceHost: Sendable {
    private let service: any Service
    private let name: String
    private let context: ServiceContext
    private let group: EventLoopGroup
    private let subscriptions = Mutex<[BusSubscription]>([])
    /// Where the log ends: what an announcement tells those who follow.
    private let head: Mutex<Head>
    private let isAnnouncementDue = Atomic(false)
    /// As it is announced.
    private let manifest: Mutex<JSONValue>
    private let underWay: RequestsUnderWay
    private let pruning: LogPruning
    private let requests: Counter
    private let failures: Counter
    private let latency: Histogram

    private enum Head: Sendable {
        case stored(Bookmark)
        /// Its digest is made only when it is announced.
        case committed(StreamEntry)

        func bookmark(in database: any Database) -> Bookmark {
            switch self {
            case .stored(let bookmark): bookmark
            case .committed(let entry): Bookmark(after: entry, in: database.databaseID)
            }
        }
    }

    /// Requests under way beyond this are refused at once: waiting would only make each of them late. More than the writes
    /// that the storage queues, as reads wait too.
    public static let maxUnderWay = 20_000
    /// After which an announcement is tried again that the bus had no room for.
    static let announcementInterval: Duration = .milliseconds(250)

    public init(
        _ service: any Service, _ context: ServiceContext, on group: EventLoopGroup,
        maxUnderWay: Int = ServiceHost.maxUnderWay
    ) {
        underWay = RequestsUnderWay(limit: maxUnderWay)
        self.service = service
        self.context = context
        self.group = group
        name = type(of: service).name
        manifest = Mutex(service.manifest.json)
        head = Mutex(.stored(Bookmark(databaseID: context.database.databaseID, seq: 0, digest: 0)))
        pruning = LogPruning(context.database, clock: context.clock, log: context.log)
        let labels: KeyValuePairs = ["service": name]
        requests = context.metrics.counter(
            "parlor_requests_total", "Requests that a service was asked.", labels: labels)
        failures = context.metrics.counter(
            "parlor_request_failures_total", "Requests that failed for no fault of the caller.", labels: labels)
        latency = context.metrics.histogram("parlor_request_seconds", "From a request to its answer.", labels: labels)
        context.metrics.watch(context.database, of: name)
    }

    /// Serves. When it returns, the service is on the bus.
    public func start() async throws {
        let log = LogRequests(database: context.database)
        let stored = try await log.head()
        head.withLock { $0 = .stored(stored) }
        context.database.onCommit { [weak self] entries in self?.publish(entries) }
        try service.start()
        var table = RequestTable()
        service.register(in: &table)
        table.on(Subject.health(of: name)) { [context] _ in
            try await context.database.read { _ in Reply() }
        }
        table.on(Subject.eventsSince(of: name)) { try await log.entries(for: $0) }
        var manifest = service.manifest
        manifest.batched = table.batched
        self.manifest.withLock { [json = manifest.json] in $0 = json }
        for (subject, entry) in table.entries {
            keep(try context.bus.respond(to: subject, queue: name) { [self] in receive($0, entry) })
        }
        keep(try context.bus.subscribe(Subject.discover) { [weak self] _ in self?.announce() })
        keep(
            context.bus.onStateChange { [weak self] state in
                if state == .connected { self?.announce() }
            })
        // Whoever hears the announcement may ask at once.
        try await context.bus.settle()
        announce()
        pruning.start()
    }

    private func keep(_ subscription: BusSubscription) { subscriptions.withLock { $0.append(subscription) } }

    /// Takes no more requests, then waits for those under way, at most `deadline`.
    public func stop(within deadline: Duration) async {
        for subscription in subscriptions.withLock({ $0 }) { subscription.cancel() }
        let left = await underWay.close(within: deadline)
        if left > 0 { context.log.warning("stopping with requests under way", ["count": left]) }
        pruning.stop()
        await service.stop()
        await context.database.close()
    }

    // MARK: Requests

    private func receive(_ request: BusRequest, _ entry: RequestTable.Entry) {
        requests.add()
        guard underWay.begin() else {
            failures.add()
            return request.reply(ServiceError.unavailable("This part of the service is busy and").json)
        }
        // The loop the request came in on: its requests start in order there, and answers need no other thread.
        let loop = EventLoop.current ?? group.loop(forKey: request.context.key ?? "")
        let started = ContinuousClock.now
        switch entry {
        case .anywhere(let handler):
            run(on: loop, request, since: started) { try await handler(Request(request)).json }
        case .reading(let handler):
            run(on: loop, request, since: started) { [self] in try await read(request, handler) }
        case .inRoom(let handler):
            do throws(ServiceError) {
                let parsed = try Request(request)
                let caller = try parsed.caller
                let roomID = try parsed.fields.string("roomId")
                context.memberships.find(roomID, parsed.onward()) { [self] found in
                    run(on: loop, request, since: started) {
                        let room = try found.get()
                        guard let participant = room.participant(caller.id) else { throw ServiceError.roomNotFound }
                        return try await handler(RoomRequest(request: parsed, room: room, caller: participant)).json
                    }
                }
            } catch {
                finish(request, error.json, since: started)
            }
        }
    }

    private func run(
        on loop: EventLoop, _ request: BusRequest, since started: ContinuousClock.Instant,
        _ work: @escaping @Sendable () async throws -> JSONValue
    ) {
        Task(executorPreference: loop) { [self] in
            do {
                // Nobody waits for it any more, and carrying it out would only make others late.
                guard request.remaining > .zero else { throw ServiceError.unavailable("This part of the service") }
                finish(request, try await work(), since: started)
            } catch {
                finish(request, translated(error, request.subject, request.context.requestID).json, since: started)
            }
        }
    }

    /// - Returns: the answer; of a batch the list of all.
    private func read(_ request: BusRequest, _ handler: @escaping RequestTable.ReadHandler) async throws -> JSONValue {
        let deadline = request.deadline
        guard let batch = RequestBatch.decode(request.data, in: request.context) else {
            let parsed = try Request(request)
            return try await context.database.read { try handler(parsed, $0) }.json
        }
        requests.add(batch.count - 1)
        let outcomes = try await context.database.read { connection in
            batch.map { question in Result { try handler(Request(question, deadline: deadline), connection) } }
        }
        return JSONWriter.value { json in
            json.array(of: zip(batch, outcomes)) { json, outcome in
                switch outcome.1 {
                case .success(let reply): json.value(reply.json)
                case .failure(let error):
                    json.value(translated(error, request.subject, outcome.0.context.requestID).json)
                }
            }
        }
    }

    private func finish(_ request: BusRequest, _ answer: JSONValue, since started: ContinuousClock.Instant) {
        request.reply(answer)
        latency.observe(.now - started)
        underWay.end()
    }

    /// What leaves a service is a `ServiceError`; what was none is logged here, and shown as nothing.
    private func translated(_ error: any Error, _ subject: String, _ requestID: String) -> ServiceError {
        if let error = error as? ServiceError {
            if error.code.isRetryable, error.code != .rateLimited { failures.add() }
            return error
        }
        failures.add()
        if let error = error as? StorageError, error.isRetryable {
            // Overload is counted: a line for each would add to it.
            if error != .overloaded {
                context.log.warning(
                    "storage refuses",
                    ["subject": subject, "error": "\(error)", "request": requestID])
            }
            return .unavailable("Storage")
        }
        if case StorageError.unstorableText = error {
            return ServiceError(.invalidField, "There are control characters in the text.")
        }
        if error is BusError {
            context.log.warning(
                "the bus did not carry it",
                ["subject": subject, "error": "\(error)", "request": requestID])
            return .unavailable("A part of the service")
        }
        context.log.error(
            "a request failed",
            ["subject": subject, "error": Self.name(of: error), "request": requestID])
        return ServiceError(.internal, "Something went wrong on our side.")
    }

    /// An error as a log may show it. A description that was written for it is meant to be seen; the one that Swift derives
    /// shows all that the error carries, which may be a person's.
    private static func name(of error: any Error) -> String {
        if error is StorageError || error is any CustomStringConvertible { return "\(error)" }
        let mirror = Mirror(reflecting: error)
        guard mirror.displayStyle == .enum else { return "\(type(of: error))" }
        return "\(type(of: error)).\(mirror.children.first?.label ?? "\(error)")"
    }

    // MARK: The event log

    /// On the thread that writes, in the order of commits.
    private func publish(_ entries: [LogEntry]) {
        for entry in entries {
            let entry = StreamEntry(entry)
            head.withLock { $0 = .committed(entry) }
            do throws(BusError) {
                try context.bus.publish(Subject.events(of: name), entry.json)
            } catch {
                // It is in the log. If it stays the last one, only an announcement tells those who follow.
                context.log.warning("an entry was not published", ["seq": entry.seq, "error": "\(error)"])
                announceLater()
            }
        }
    }

    // MARK: Announcing

    private func announce() {
        guard !underWay.isClosed else { return }
        let head = head.withLock { $0 }.bookmark(in: context.database)
        let announcement = JSONWriter.object(reservingCapacity: 4096) {
            $0.member("manifest", manifest.withLock { $0 })
            $0.member("head", object: { head.writeMembers(to: &$0) })
        }
        do throws(BusError) {
            try context.bus.publish(Subject.announce, announcement)
        } catch {
            context.log.error("the service could not be announced", ["error": "\(error)"])
            if error == .slowConsumer { announceLater() }
        }
    }

    private func announceLater() {
        guard !isAnnouncementDue.exchange(true, ordering: .relaxed) else { return }
        let loop = group.loops[0]
        loop.execute { [weak self] in
            loop.schedule(after: Self.announcementInterval) {
                guard let self else { return }
                self.isAnnouncementDue.store(false, ordering: .relaxed)
                self.announce()
            }
        }
    }
}
