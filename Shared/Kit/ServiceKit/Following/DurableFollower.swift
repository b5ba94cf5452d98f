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
/// A service may spread its rooms over several logs. They are followed at the same time, each with a position of its own, so
/// the entries of a room are in order. If their number changes, the old logs are read to their ends first.
///
/// It reads pages of a log at its own pace; an entry on the bus only signals that the log has grown. So the log's
/// owner does not wait for it, and at most one page of each log is in memory. Instances that share a database may follow at
/// the same time: entries that one has taken are skipped by the others.
///
/// The service lists `LogPositionsStore.migration` among its migrations, and the log's service in
/// `BusPeer.service(…, follows:)`.
public final class DurableFollower<Consumer: LogConsumer>: Sendable {
    public let consumer: Consumer
    /// The service whose logs are followed.
    private let owner: String
    /// The service that follows them.
    private let service: String
    private let database: any Database
    private let bus: any MessageBus
    private let log: Logger
    private let client: LogClient
    private let makeReader: @Sendable (LogID, (any TaskExecutor)?) -> LogReader<Consumer>
    private let announced = AsyncSignal()
    private let running = Mutex(Running())

    private struct Running {
        var subscription: BusSubscription?
        var task: Task<Void, Never>?
        var executor: (any TaskExecutor)?
        /// The owner's logs; empty until they are known.
        var logs: [LogID] = []
        var readers: [LogID: LogReader<Consumer>] = [:]
        var reading: [LogID: (subscription: BusSubscription, task: Task<Void, Never>)] = [:]
        var isStopped = false
    }

    /// The interval at which the owner is asked for its logs, besides each announcement.
    private static var lookInterval: Duration { .seconds(60) }

    /// A service without the right to follow the log, or without the table of positions, ends the process.
    ///
    /// - Parameters:
    ///   - logID: the service's log; its others are followed, too.
    ///   - service: the service that follows.
    ///   - durability: the durability of the writes. With `.relaxed` a power cut may undo the latest ones, each with
    ///     its position. The same entries are then taken again. A service that tells clients of them must not use it.
    ///   - pace: the shortest time between two reads of a log while it is not behind. Entries that arrive in this time are
    ///     read together.
    public init<Follower: Service>(
        _ logID: LogID, for service: Follower.Type, _ context: ServiceContext, durability: Durability = .synced,
        pace: Duration = .milliseconds(20), _ consumer: Consumer
    ) {
        let (only, others) = (Subject.log(of: logID), Subject.logs(of: logID.service))
        let rights = service.peer.rights.subscribe
        guard [only, others].allSatisfy({ subject in rights.contains { SubjectGrammar.covers($0, subject) } }) else {
            fatalError("\(service.name) follows the log of \(logID), which `follows` in its `peer` does not list")
        }
        guard service.migrations.contains(where: LogPositionsStore.isMigration) else {
            fatalError("\(service.name) follows a log, and its migrations lack LogPositionsStore.migration(version:)")
        }
        owner = logID.service
        self.service = service.name
        self.consumer = consumer
        let (database, log, turns) = (context.database, context.log, ConsumerTurns())
        let client = LogClient(
            context.bus, requestID: "\(service.name)-follow", owner: owner.capitalizedName,
            faults: ReplyFaults(log: log))
        (self.database, bus, self.log, self.client) = (database, context.bus, log, client)
        makeReader = { logID, executor in
            LogReader(
                logID, consumer, database, client, turns, durability: durability, pace: pace, on: executor, log: log)
        }
    }

    /// Subscribes to the logs, and reads them until `stop`.
    ///
    /// - Parameter executor: runs the tasks; nil for the shared threads.
    public func start(on executor: (any TaskExecutor)? = nil) throws(BusError) {
        // Each entry reaches one of the instances; an announcement reaches all.
        let subscription = try bus.subscribe(Subject.announce(of: owner)) { [weak self] _ in
            guard let self else { return }
            announced.signal()
            for reader in running.withLock({ $0.readers.values }) { reader.wake() }
        }
        running.withLock { running in
            running.subscription = subscription
            running.executor = executor
            running.task = Task(executorPreference: executor) { await self.run() }
        }
    }

    /// Ends the subscriptions and the tasks, each after its current page of a log or of a snapshot.
    public func stop() async {
        let running = running.withLock { running in
            running.isStopped = true
            return running
        }
        running.subscription?.cancel()
        running.task?.cancel()
        for (_, task) in running.reading.values { task.cancel() }
        for reader in running.readers.values { reader.stop() }
        await running.task?.value
        await end(Set(self.running.withLock { $0.reading.keys }))
    }

    /// Begins to follow each log in which this database has no position yet. Returns once the positions are stored.
    ///
    /// Call it before a reply that promises that later entries will be taken. The tasks of `start` may begin to follow
    /// only after that reply.
    ///
    /// - Parameter context: the context of the request that this is done for.
    public func beginIfNew(_ context: BusContext) async throws {
        let readers = running.withLock { running in running.logs.map { running.readers[$0] } }
        if !readers.isEmpty, readers.allSatisfy({ $0?.isBegun ?? false }) { return }
        // A database that has positions has all: those of new logs replace the old ones together (`leave`).
        let stored = try await database.read { [owner] in try LogPositionsStore($0).positions(ofService: owner) }
        guard stored.isEmpty else { return }
        let page = try await head(context)
        let logs = logs(page)
        for logID in logs { try await reader(of: logID).beginIfNew(context, logID.number == 0 ? page : nil) }
        running.withLock { $0.logs = logs }
    }

    /// The reader of the owner's log, if it has only one.
    package var only: LogReader<Consumer> { reader(of: LogID(owner)) }

    private func reader(of logID: LogID) -> LogReader<Consumer> {
        running.withLock { running in
            if let reader = running.readers[logID] { return reader }
            let reader = makeReader(logID, running.executor)
            running.readers[logID] = reader
            return reader
        }
    }

    private func run() async {
        var failure = RepeatedFailure()
        while !Task.isCancelled {
            do {
                let head = try await head(nil)
                let logs = logs(head)
                try await leaveOldLogs(for: logs, earlier: head.earlier.map { LogID(owner, $0) })
                await end(Set(running.withLock { $0.reading.keys }).subtracting(logs))
                for logID in logs { try read(logID) }
                running.withLock { $0.logs = logs }
                if failure.end() { log.info("logs are followed again", ["service": owner]) }
            } catch {
                if failure.note("\(error)"), !Task.isCancelled {
                    log.warning("logs cannot be followed", ["service": owner, "error": "\(error)"])
                }
            }
            if failure.isThere {
                try? await Task.sleep(for: FollowerLimits.retryInterval)  // cancelled at the end
            } else {
                await announced.wait(atMost: Self.lookInterval)
            }
        }
    }

    /// Asks the owner for the heads of its logs. The reply is also a page of the only log, if it has one.
    private func head(_ context: BusContext?) async throws -> LogPage {
        try await client.page(of: LogID(owner), .head, context)
    }

    /// The logs to which the owner writes now.
    private func logs(_ head: LogPage) -> [LogID] { head.logs.map { LogID(owner, $0) } }

    private func read(_ logID: LogID) throws(BusError) {
        guard running.withLock({ $0.reading[logID] == nil }) else { return }
        let reader = reader(of: logID)
        let subscription = try bus.subscribe(Subject.log(of: logID), queue: service) { _ in reader.wake() }
        let isStopped = running.withLock { running in
            guard !running.isStopped else { return true }
            running.reading[logID] = (subscription, Task(executorPreference: running.executor) { await reader.run() })
            return false
        }
        if isStopped { subscription.cancel() }
    }

    private func end(_ logs: Set<LogID>) async {
        let ended = running.withLock { running in
            logs.compactMap { logID in
                let reader = running.readers.removeValue(forKey: logID)
                return running.reading.removeValue(forKey: logID).map { (reader, $0.subscription, $0.task) }
            }
        }
        for (reader, subscription, task) in ended {
            subscription.cancel()
            task.cancel()
            reader?.stop()
        }
        for (_, _, task) in ended { await task.value }
    }

    // MARK: Another number of logs

    /// Reads the logs to their ends to which the owner no longer writes, in the order of their generations. Then the new ones
    /// are followed from their beginnings, as what came before is in the old ones.
    private func leaveOldLogs(for logs: [LogID], earlier: [LogID]) async throws {
        let stored = try await database.read { [owner] in try LogPositionsStore($0).positions(ofService: owner) }
        guard let first = stored.keys.min(), !logs.contains(first) else { return }
        await end(Set(stored.keys))
        // Those of generations in between were never followed.
        let old = Set(earlier.filter { $0 > first }).union(stored.keys)
        for logID in old.sorted() where try await !leave(logID, at: stored[logID]) { return }
        var beginnings: [LogID: LogPosition] = [:]
        for logID in logs { beginnings[logID] = try await followed(logID).beginning }
        log.info("the logs of a service have changed", ["service": owner, "logs": logs.count])
        try await database.write(in: database.logs[0]) { [beginnings] in
            try LogPositionsStore($0).replace(Array(old), with: beginnings)
        }
    }

    /// - Parameter position: the stored position; nil for a log that was never followed.
    /// - Returns: false if another instance has left the old logs, or if they are gone with the owner's database. The new
    ///   ones are then followed as at first.
    private func leave(_ logID: LogID, at position: LogPosition?) async throws -> Bool {
        let reader = makeReader(logID, running.withLock { $0.executor })
        let start = if let position { position } else { try await followed(logID).beginning }
        if position == nil {
            try await database.write(in: database.logs[0]) {
                _ = try LogPositionsStore($0).begin(logID, at: start, after: nil)
            }
        }
        if try await reader.drain(from: start) { return true }
        let isGone = try await followed(logID).head.databaseID != start.databaseID
        if isGone {
            log.warning("the logs of a service are in another database", ["service": owner])
            try await database.write(in: database.logs[0]) { [owner] in
                let store = LogPositionsStore($0)
                try store.replace(Array(store.positions(ofService: owner).keys), with: [:])
            }
        }
        return false
    }

    private func followed(_ logID: LogID) async throws -> FollowedLog {
        FollowedLog(try await client.page(of: logID, .head), of: logID, client)
    }
}

extension String {
    /// The name as it begins an error message: "Messaging".
    fileprivate var capitalizedName: String { prefix(1).uppercased() + dropFirst() }
}
