import ParlorContracts
import ParlorEventLog
import ParlorLogging
import ParlorMessageBus
import ParlorServiceClient
import ParlorStorage
import ParlorWorkers
import Synchronization

/// Follows another service's log with a position in this service's own database: each entry takes effect once and in
/// order, across restarts, gaps and outages. (`LogFollower` has its position in memory.)
///
/// It reads pages of the log at its own pace; an entry on the bus only signals that the log has grown. So the log's
/// owner does not wait for it, and at most one page is in memory. Instances that share a database may follow at the
/// same time: entries that one has taken are skipped by the others.
///
/// The service lists `LogPositionsStore.migration` among its migrations, and the log's service in
/// `BusPeer.service(…, follows:)`.
public final class DurableFollower<Consumer: LogConsumer>: Sendable {
    public let logID: LogID
    public let consumer: Consumer
    /// The service that follows it.
    private let service: String
    private let database: any Database
    private let bus: any MessageBus
    private let log: Logger
    private let durability: Durability
    private let pace: Duration
    private let client: LogClient
    private let wakeSignal = AsyncSignal()
    private let running = Mutex(Running())
    /// True once this process has seen a stored position. Nothing removes one.
    private let hasPosition = Atomic(false)
    /// The `begin` in progress. Requests and the follower's own task wait for the same one.
    private let beginning = Mutex<Task<LogPosition, any Error>?>(nil)

    private struct Running {
        var subscriptions: [BusSubscription] = []
        var task: Task<Void, Never>?
        var executor: (any TaskExecutor)?
    }

    /// A service without the right to follow the log, or without the table of positions, ends the process.
    ///
    /// - Parameters:
    ///   - service: the service that follows.
    ///   - durability: the durability of the writes. With `.relaxed` a power cut may undo the latest ones, each with
    ///     its position. The same entries are then taken again. A service that tells clients of them must not use it.
    ///   - pace: the shortest time between two reads while it is not behind. Entries that arrive in this time are read
    ///     together.
    public init<Follower: Service>(
        _ logID: LogID, for service: Follower.Type, _ context: ServiceContext, durability: Durability = .synced,
        pace: Duration = .milliseconds(20), _ consumer: Consumer
    ) {
        guard service.peer.rights.subscribe.contains(where: { SubjectGrammar.covers($0, Subject.log(of: logID)) })
        else {
            fatalError("\(service.name) follows the log of \(logID), which `follows` in its `peer` does not list")
        }
        guard service.migrations.contains(where: LogPositionsStore.isMigration) else {
            fatalError("\(service.name) follows a log, and its migrations lack LogPositionsStore.migration(version:)")
        }
        self.logID = logID
        self.service = service.name
        self.consumer = consumer
        database = context.database
        bus = context.bus
        log = context.log
        self.durability = durability
        self.pace = pace
        client = LogClient(
            bus, requestID: "\(service.name)-follow", owner: logID.service.capitalizedName,
            faults: ReplyFaults(log: log))
    }

    /// Subscribes to the log, and reads it until `stop`.
    ///
    /// - Parameter executor: runs the task; nil for the shared threads.
    public func start(on executor: (any TaskExecutor)? = nil) throws(BusError) {
        // Each entry reaches one of the instances; an announcement reaches all.
        let subscriptions = [
            try bus.subscribe(Subject.log(of: logID), queue: service) { [wakeSignal] _ in wakeSignal.signal() },
            try bus.subscribe(Subject.announce(of: logID.service)) { [wakeSignal] _ in wakeSignal.signal() },
        ]
        running.withLock { running in
            running = Running(subscriptions: subscriptions, executor: executor)
            running.task = Task(executorPreference: executor) { await self.run() }
        }
    }

    /// Ends the subscriptions and the task, after its current page of the log or of a snapshot.
    public func stop() async {
        let running = running.withLock { $0 }
        for subscription in running.subscriptions { subscription.cancel() }
        running.task?.cancel()
        beginning.withLock { $0 }?.cancel()
        await running.task?.value
    }

    /// Begins to follow the log if this database has no position in it yet. Returns once a position is stored.
    ///
    /// Call it before a reply that promises that later entries will be taken. The task of `start` may begin to follow
    /// only after that reply.
    ///
    /// - Parameter context: the context of the request that this is done for.
    public func beginIfNew(_ context: BusContext) async throws {
        guard !hasPosition.load(ordering: .acquiring) else { return }
        if try await position(nil) == nil { _ = try await begin(.first, after: nil, context) }
        hasPosition.store(true, ordering: .releasing)
    }

    private func run() async {
        var position: LogPosition?
        var storedAt = ContinuousClock.now
        var failure = RepeatedFailure()
        var pagesBehind = 0
        while !Task.isCancelled {
            var isBehind = false
            do {
                (position, isBehind) = try await step(from: position, after: pagesBehind)
                if let position, storedAt + FollowerLimits.storeInterval <= .now {
                    try await store(position)
                    storedAt = .now
                }
                if failure.end() { log.info("a log is followed again", ["log": logID.name]) }
            } catch {
                // Unless the error is from the log's owner, the position in memory may be the cause. The next step then
                // reads the stored position.
                if !(error is ServiceError) { position = nil }
                if failure.note("\(error)"), !Task.isCancelled {
                    log.warning("a log cannot be followed", ["log": logID.name, "error": "\(error)"])
                }
            }
            pagesBehind = isBehind ? pagesBehind + 1 : 0
            if isBehind { continue }
            // Entries that arrive do not end the pause after a failure: each would cause the same failure again.
            if !failure.isThere { await wakeSignal.wait(atMost: FollowerLimits.idleInterval) }
            // Entries that arrive together are read together.
            try? await Task.sleep(for: failure.isThere ? FollowerLimits.retryInterval : pace)  // cancelled at the end
        }
    }

    /// Reads and takes one page, from a position, or from the stored one if it is nil.
    ///
    /// - Parameter pagesBehind: the number of pages read in a row that were not the last.
    /// - Returns: the new position, and true if there is more.
    package func step(
        from known: LogPosition?, after pagesBehind: Int = 0
    ) async throws -> (LogPosition, isBehind: Bool) {
        guard let position = try await position(known) else { return (try await begin(.first, after: nil), true) }
        if pagesBehind == 0, let head = try await headIfNothingMatters(), head.databaseID == position.databaseID,
            head.seq >= position.seq
        {
            return (head, false)
        }
        let page = try await page(after: position, limit: FollowerLimits.pageSize(after: pagesBehind))
        if let reason = Self.reasonToBegin(position, page) { return (try await begin(reason, after: position), true) }
        // Malformed entries at the end of the log would be requested again and again.
        let isEndMalformed = page.malformedCount > 0 && page.through == page.head.seq
        let last = page.entries.last.map { LogPosition(after: $0, in: position.databaseID) }
        guard let end = isEndMalformed ? page.head : last else { return (position, false) }
        if page.entries.isEmpty { return (end, false) }
        return (try await take(page.entries, upTo: end), page.through < page.head.seq)
    }

    /// Returns the first page after a position that has a well-formed entry, or is the last one. A page of malformed entries
    /// has no position from which to continue.
    private func page(after position: LogPosition, limit: Int) async throws -> LogPage {
        var since = position.seq
        var page = try await client.page(of: logID, LogQuery(after: position, limit: limit))
        while page.isKnown, page.entries.isEmpty, page.malformedCount > 0, page.through < page.head.seq,
            since < page.through
        {
            since = page.through
            page = try await client.page(of: logID, LogQuery(since: since, limit: limit))
        }
        return page
    }

    /// Returns why a log cannot be followed from a position; nil if it can.
    ///
    /// - Parameter page: the owner's reply to a query for the entries after the position.
    private static func reasonToBegin(_ position: LogPosition, _ page: LogPage) -> BeginReason? {
        // If the position's entry was deleted, it is still the same log.
        guard page.head.databaseID == position.databaseID, page.isKnown || position.seq < page.oldest else {
            return .replaced
        }
        // If only the position's own entry was deleted, nothing is lost: the next one is still there.
        return position.seq + 1 >= page.oldest ? nil : .pruned
    }

    /// Stores a position that was reached without a write.
    package func store(_ position: LogPosition) async throws { _ = try await write([], upTo: position) }

    private func take(_ entries: [LogEntry], upTo end: LogPosition) async throws -> LogPosition {
        guard try await consumer.needsWrite(for: entries) else { return end }
        return try await write(entries, upTo: end)
    }

    private func write(_ entries: [LogEntry], upTo end: LogPosition) async throws -> LogPosition {
        let (stored, hasTaken) = try await database.write(durability) { [logID, consumer] connection in
            var hasTaken = false
            let stored = try LogPositionsStore(connection).advance(logID, to: end, with: entries) {
                try consumer.take($0, on: connection)
                hasTaken = true
            }
            return (stored, hasTaken)
        }
        if hasTaken { consumer.taken() }
        guard let stored else { throw FollowingError.noPosition }
        return stored
    }

    /// - Parameter context: the context of the request that this is done for; nil for the follower's own request.
    private func begin(
        _ reason: BeginReason, after known: LogPosition?, _ context: BusContext? = nil
    ) async throws -> LogPosition {
        let executor = running.withLock { $0.executor }
        let task = beginning.withLock { beginning in
            if let beginning { return beginning }
            let task = Task(executorPreference: executor) {
                defer { self.beginning.withLock { $0 = nil } }
                return try await self.beginAlone(reason, after: known, context)
            }
            beginning = task
            return task
        }
        return try await task.value
    }

    private func beginAlone(
        _ reason: BeginReason, after known: LogPosition?, _ context: BusContext?
    ) async throws -> LogPosition {
        // An earlier call, or another instance, may have begun meanwhile.
        if let stored = try await position(nil), LogPositionsStore.hasMoved(stored, from: known) { return stored }
        let followed = FollowedLog(try await head(context), of: logID, client)
        if reason != .first {
            log.warning(
                "entries of a followed log are lost",
                [
                    "log": logID.name, "reason": reason.rawValue, "position": known?.seq ?? 0,
                    "oldest": followed.oldest, "head": followed.head.seq,
                ])
        }
        let position = try await consumer.begin(followed, because: reason)
        if position != followed.head {
            // From a position that is not in the log, the next page would lead here again, at once.
            let page = try await client.page(of: logID, LogQuery(after: position, limit: 0), context)
            guard Self.reasonToBegin(position, page) == nil else { throw FollowingError.notInLog }
        }
        return try await database.write(durability) { [logID] in
            try LogPositionsStore($0).begin(logID, at: position, after: known)
        }
    }

    private func headIfNothingMatters() async throws -> LogPosition? {
        guard try await !consumer.wantsEntries() else { return nil }
        let head = try await head(nil).head
        // By now, the consumer may want entries, including some before this head.
        return try await consumer.wantsEntries() ? nil : head
    }

    private func position(_ known: LogPosition?) async throws -> LogPosition? {
        if let known { return known }
        return try await database.read { [logID] in try LogPositionsStore($0).position(in: logID) }
    }

    private func head(_ context: BusContext?) async throws -> LogPage {
        try await client.page(of: logID, .head, context)
    }
}

private enum FollowingError: Error {
    /// `begin` returned a position from which the log cannot be followed.
    case notInLog
    /// The stored position is gone.
    case noPosition
}

private enum FollowerLimits {
    /// The number of entries in a page: few, as their owner reads them between people's requests. A follower that is
    /// many pages behind requests more, up to sixteen times as many.
    private static let pageSize = 32
    private static let pagesOfOneSize = 16
    private static let maxDoublings = 4
    /// The interval of reads without a signal: the instance that received the signal may have ended.
    static let idleInterval: Duration = .seconds(1)
    static let retryInterval: Duration = .seconds(1)
    /// The interval at which a position without a write is stored: after a crash the entries since then are read again.
    static let storeInterval: Duration = .seconds(60)

    static func pageSize(after pagesBehind: Int) -> Int {
        pageSize << min(pagesBehind / pagesOfOneSize, maxDoublings)
    }
}

extension String {
    /// The name as it begins an error message: "Messaging".
    fileprivate var capitalizedName: String { prefix(1).uppercased() + dropFirst() }
}
