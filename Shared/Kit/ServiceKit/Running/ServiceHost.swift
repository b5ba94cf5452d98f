import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorStorage
import ParlorWorkers
import Synchronization

/// Runs a service on a bus: answers its requests, announces it, publishes its event logs.
public final class ServiceHost: Sendable {
    private let service: any Service
    let name: String
    let context: ServiceContext
    let group: EventLoopGroup
    private let subscriptions = Mutex<[BusSubscription]>([])
    private let publisher: LogPublisher
    let table: RequestTable
    private let shares = Mutex<LogShares?>(nil)
    let inFlight: InFlightRequests
    /// The place of the last request in a room.
    let places = Atomic(0)
    private let pruning: LogPruning
    let requests: Counter
    let failures: Counter
    let errors: RequestErrors
    let latency: Histogram

    /// The limit of requests in progress. Others are refused at once, as waiting would only make each
    /// of them late. It exceeds the number of writes that the storage queues, as reads wait too.
    public static let maxInFlight = 20_000
    /// The interval between reads of the event logs' heads, to find entries that were not published.
    public static let lookInterval: Duration = .seconds(2)

    public init(
        _ service: any Service, _ context: ServiceContext, on group: EventLoopGroup,
        maxInFlight: Int = ServiceHost.maxInFlight, lookingEvery interval: Duration = ServiceHost.lookInterval
    ) {
        inFlight = InFlightRequests(limit: maxInFlight)
        self.service = service
        self.context = context
        self.group = group
        name = type(of: service).name
        var table = service.requests
        table.logLayout = context.logLayout
        self.table = table
        // Within one process nothing checks rights, and the mistake would show only once the service runs separately.
        let mayAsk =
            Subject.membership.hasPrefix("\(name).")
            || type(of: service).peer.rights.request.contains(Subject.membership)
        guard mayAsk || !table.asksForRooms else {
            fatalError("\(name) registers with `onRoom`, so its `peer` has to request \(Subject.membership)")
        }
        let logs = EventLogs(context.database)
        publisher = LogPublisher(
            table.manifest, of: logs, knowsLogs: !type(of: service).mayHaveSeveralLogs, on: context.bus,
            log: context.log, every: interval)
        pruning = LogPruning(logs, clock: context.clock, log: context.log)
        let labels: KeyValuePairs = ["service": name]
        requests = context.metrics.counter(
            "parlor_requests_total", "Requests received by a service.", labels: labels)
        failures = context.metrics.counter(
            "parlor_request_failures_total", "Requests that failed for reasons other than the caller.", labels: labels)
        errors = RequestErrors(failures: failures, log: context.log)
        latency = context.metrics.histogram(
            "parlor_request_seconds", "Time from a request to its reply, in seconds.", labels: labels)
        context.metrics.watch(context.database, of: name)
        for logID in context.logLayout.logs(of: name) {
            context.metrics.gauge(
                "parlor_log_seq", "Newest known entry of the service's event log.", labels: ["service": logID.name]
            ) { [weak self] in Double(self?.publisher.lastPublished[logID] ?? 0) }
        }
    }

    /// Starts the service. When it returns, the service is on the bus.
    public func start() async throws {
        publisher.attach()
        try service.start(on: group.loops[0])
        var table = table
        table.on(Endpoint(Subject.health(of: name))) { [context] _ in
            try await Self.check(context)
            return Reply()
        }
        table.on(Endpoint(Subject.refusal(of: name))) { [context] request in
            if let reason = try request.fields.optionalString("reason") {
                context.log.error("a gateway refuses this service's announcement", ["reason": reason])
                return Reply()
            }
            let (claim, holder) = (try request.fields.string("what"), try request.fields.string("of"))
            context.log.error(
                "a gateway rejects this service: another service already has what it claims",
                ["what": claim, "of": holder])
            return Reply()
        }
        if let digest = table.manifest.descriptionDigest {
            let json = table.description.json
            table.on(Endpoint(Subject.description(of: name))) { request in
                // The gateway may have asked for the description of another version. It must not get this one.
                guard try request.fields.optionalString("description") ?? digest == digest else {
                    throw ServiceError.unavailable("This description")
                }
                return Reply(.ok, json)
            }
        }
        table.answerLogPages(from: EventLogs(context.database))
        if type(of: service).keeper != nil {
            table.on(Endpoint(Subject.fence(of: name))) { [context, table] in
                try await RoomFences.confirm($0, in: context, table.peopleChange ?? { _, _ in })
            }
        }
        for (endpoint, entry) in table.entries {
            keep(try context.bus.respond(to: endpoint.subject, queue: name) { [self] in receive($0, entry) })
        }
        try shareLogs(table)
        keep(try context.bus.subscribe(Subject.discover) { [publisher] _ in publisher.announce() })
        keep(
            context.bus.onStateChange { [publisher, context] state in
                guard state == .connected else { return }
                // Changes of rooms' people may have been confirmed without it.
                context.memberships.forgetAll()
                publisher.announce()
            })
        // Peers may send requests as soon as they receive the announcement.
        try await context.bus.settle()
        try await publisher.start()
        pruning.start()
    }

    private func shareLogs(_ table: RequestTable) throws(BusError) {
        guard !context.bus.hasKeyAffinity, context.logLayout.count > 1 else { return }
        let entries = Dictionary(uniqueKeysWithValues: table.entries.map { ($0.endpoint.subject, $0.entry) })
        let shares = LogShares(
            of: context.logLayout.logs(of: name), service: name, id: context.newID(at: context.clock.now()),
            on: context.bus
        ) { [self] request in
            // Without its second token, which is the number of the log.
            let tokens = request.subject.split(separator: ".", maxSplits: 2)
            guard tokens.count == 3, let entry = entries["\(tokens[0]).\(tokens[2])"] else {
                return request.reply(ServiceError.unavailable("This part of the service"))
            }
            receive(request, entry)
        }
        try shares.start()
        self.shares.withLock { $0 = shares }
    }

    /// Throws if the database cannot be read or written.
    private static func check(_ context: ServiceContext) async throws {
        let database = context.database
        // A test write costs a sync. It is needed only after writes have failed, to see whether they still do.
        let statistics = database.statistics
        if statistics.isWritingFailing {
            for log in database.logs { try await database.tryWriting(in: log) }
        }
        if let damage = statistics.damage { throw StorageError.corrupt(damage) }
        try await database.read {
            try database.requireFile()
            _ = try EventLog(database).newest(on: $0)
        }
    }

    /// Returns true if this instance can serve requests. False also if its database does not reply within the limit.
    package func isHealthy(within limit: Duration) async -> Bool {
        guard context.bus.isConnected else { return false }
        // A read that hangs cannot be cancelled, and is not waited for.
        let isHealthy = await result(within: limit) { [context] in
            do {
                try await Self.check(context)
                return true
            } catch {
                context.log.warning("the database cannot be used", ["error": "\(error)"])
                return false
            }
        }
        if isHealthy == nil { context.log.warning("the database does not reply", ["within": "\(limit)"]) }
        return isHealthy ?? false
    }

    private func keep(_ subscription: BusSubscription) { subscriptions.withLock { $0.append(subscription) } }

    /// Accepts no more requests, then waits for those in progress, at most `deadline`.
    public func stop(within deadline: Duration) async {
        for subscription in subscriptions.withLock({ $0 }) { subscription.cancel() }
        await shares.withLock { $0.take() }?.stop()
        publisher.stop()
        let left = await inFlight.close(within: deadline)
        if left > 0 { context.log.warning("stopping with requests in progress", ["count": left]) }
        pruning.stop()
        await service.stop()
        await context.database.close()
    }

    var status: ComponentStatus {
        let statistics = context.database.statistics
        return ComponentStatus(
            part: name,
            figures: [
                .init("requests", requests.current), .init("failed", failures.current),
                .init("in progress", inFlight.count), .init("queued reads", statistics.queuedReads),
                .init("queued writes", statistics.queuedWrites), .init("commits", statistics.commits),
            ],
            positions: publisher.lastPublished.sorted { $0.key < $1.key }.map { .init($0.key.name, $0.value) })
    }
}
