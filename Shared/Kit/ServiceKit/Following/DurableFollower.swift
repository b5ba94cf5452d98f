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
        let stored = try await database.read { [owner] in try LogPositionsStore($0).positions(ofService: owner) }
        // Of the first generation there is one log.
        if stored.keys.elementsEqual([LogID(owner)]) { return }
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
                try await leaveOldLogs(for: logs, head)
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
            let task = Task(executorPreference: running.executor) {
                await reader.run()
                if !Task.isCancelled { self.noteLeft(logID) }
            }
            running.reading[logID] = (subscription, task)
            return false
        }
        if isStopped { subscription.cancel() }
    }

    /// Notes that another instance has left a log: this one looks for the new ones.
    private func noteLeft(_ logID: LogID) {
        running.withLock { running in
            running.reading.removeValue(forKey: logID)?.subscription.cancel()
            running.readers[logID] = nil
        }
        announced.signal()
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
    private func leaveOldLogs(for logs: [LogID], _ head: LogPage) async throws {
        let stored = try await database.read { [owner] in try LogPositionsStore($0).positions(ofService: owner) }
        guard let first = stored.keys.min(), !logs.contains(first) else { return }
        let isSameDatabase = stored.values.allSatisfy { $0.databaseID == head.head.databaseID }
        guard !isSameDatabase || logs.allSatisfy({ $0 > first }) else {
            // The reply of an instance that does not know the new logs yet.
            throw ServiceError.unavailable(owner.capitalizedName)
        }
        await end(Set(stored.keys))
        // Those of generations in between were never followed.
        let between = head.earlier.map { LogID(owner, $0) }.filter { $0 > first }
        let old = Set(between).union(stored.keys).subtracting(logs).sorted()
        var isLossy = false
        for logID in old {
            var start = stored[logID]
            if start == nil { start = try await beginning(of: logID, after: first) }
            guard let start else { return }
            switch try await makeReader(logID, running.withLock { $0.executor }).drain(from: start) {
            case .whole: break
            case .lossy: isLossy = true
            case .gone where isSameDatabase: return
            // The new logs are then followed as at first.
            case .gone: return try await replace(Array(stored.keys), with: [:])
            }
        }
        log.info("the logs of a service have changed", ["service": owner, "logs": logs.count])
        var beginnings: [LogID: LogPosition] = [:]
        for logID in logs {
            let new = try await followed(logID)
            beginnings[logID] = new.beginning
            isLossy = isLossy || !new.hasFirstEntry
        }
        if isLossy {
            for logID in logs { try await reader(of: logID).begin(.pruned, after: nil) }
            beginnings = [:]
        }
        try await replace(old, with: beginnings)
    }

    /// Begins to follow a log of an earlier generation.
    ///
    /// - Returns: nil if another instance has left the logs of the first stored one.
    private func beginning(of logID: LogID, after first: LogID) async throws -> LogPosition? {
        let beginning = try await followed(logID).beginning
        return try await database.write(in: database.logs[0]) { connection in
            let store = LogPositionsStore(connection)
            guard try store.position(in: first) != nil else { return nil }
            return try store.begin(logID, at: beginning, after: nil)
        }
    }

    private func replace(_ old: [LogID], with positions: [LogID: LogPosition]) async throws {
        try await database.write(in: database.logs[0]) { try LogPositionsStore($0).replace(old, with: positions) }
    }

    private func followed(_ logID: LogID) async throws -> FollowedLog {
        FollowedLog(try await client.page(of: logID, .head), of: logID, client)
    }
}

extension String {
    /// The name as it begins an error message: "Messaging".
    fileprivate var capitalizedName: String { prefix(1).uppercased() + dropFirst() }
}
