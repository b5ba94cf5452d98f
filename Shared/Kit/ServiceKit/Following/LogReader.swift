import ParlorContracts
import ParlorEventLog
import ParlorLogging
import ParlorMessageBus
import ParlorServiceClient
import ParlorStorage
import ParlorWorkers
import Synchronization

/// Reads one log of another service, with a position in this service's own database, for a `DurableFollower`.
package final class LogReader<Consumer: LogConsumer>: Sendable {
    package let logID: LogID
    private let consumer: Consumer
    private let database: any Database
    /// The log of this service in whose transactions it writes.
    private let ownLog: Int
    private let log: Logger
    private let durability: Durability
    private let pace: Duration
    private let client: LogClient
    private let turns: ConsumerTurns
    private let wakeSignal = AsyncSignal()
    private let executor: (any TaskExecutor)?
    /// True once this process has seen a stored position. Nothing removes one while the log is followed.
    private let hasPosition = Atomic(false)
    /// The `begin` in progress. Requests and the follower's own task wait for the same one.
    private let beginning = Mutex<Task<LogPosition, any Error>?>(nil)

    init(
        _ logID: LogID, _ consumer: Consumer, _ database: any Database, _ client: LogClient, _ turns: ConsumerTurns,
        durability: Durability, pace: Duration, on executor: (any TaskExecutor)?, log: Logger
    ) {
        self.logID = logID
        self.consumer = consumer
        self.database = database
        ownLog = database.logs[0]
        self.client = client
        self.turns = turns
        self.durability = durability
        self.pace = pace
        self.executor = executor
        self.log = log
    }

    /// True once a position is stored.
    var isBegun: Bool { hasPosition.load(ordering: .acquiring) }

    /// Notes that the log has grown.
    func wake() { wakeSignal.signal() }

    /// Ends the `begin` in progress after its current page.
    func stop() { beginning.withLock { $0 }?.cancel() }

    /// Begins to follow the log if this database has no position in it yet. Returns once a position is stored.
    ///
    /// - Parameters:
    ///   - context: the context of the request that this is done for.
    ///   - head: the head of the log, if it is known already.
    func beginIfNew(_ context: BusContext, _ head: LogPage?) async throws {
        guard !isBegun else { return }
        if try await position(nil) == nil { _ = try await begin(.first, after: nil, context, head) }
        hasPosition.store(true, ordering: .releasing)
    }

    /// Reads the log until the task is cancelled, or another instance has left the log.
    func run() async {
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
            } catch FollowingError.noPosition where isBegun {
                return
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
        guard let position = try await position(known) else {
            // It was there: another instance has left the log.
            guard !isBegun else { throw FollowingError.noPosition }
            return (try await begin(.first, after: nil), true)
        }
        hasPosition.store(true, ordering: .releasing)
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

    /// How the reading of a log of an earlier generation ends.
    enum Drained {
        case whole
        /// Entries were deleted before they were read.
        case lossy
        /// Another instance has left the log meanwhile, or the owner has another database.
        case gone
    }

    /// Reads the log of an earlier generation to its end. Nobody writes to it any more.
    func drain(from start: LogPosition) async throws -> Drained {
        var (position, pages, isLossy) = (start, 0, false)
        while true {
            try Task.checkCancellation()
            let limit = FollowerLimits.pageSize(after: pages)
            var page = try await page(after: position, limit: limit)
            if Self.reasonToBegin(position, page) == .pruned {
                isLossy = true
                let oldest = LogPosition(databaseID: position.databaseID, seq: page.oldest - 1, digest: 0)
                page = try await self.page(after: oldest, limit: limit)
            }
            guard page.head.databaseID == position.databaseID else { return .gone }
            guard let last = page.entries.last else {
                // The newest entry is deleted only with its whole log.
                return isLossy || page.head.seq < start.seq ? .lossy : .whole
            }
            position = LogPosition(after: last, in: position.databaseID)
            do {
                _ = try await write(page.entries, upTo: position)
            } catch FollowingError.noPosition {
                return .gone
            }
            pages += 1
        }
    }

    /// Stores a position that was reached without a write.
    package func store(_ position: LogPosition) async throws { _ = try await write([], upTo: position) }

    private func take(_ entries: [LogEntry], upTo end: LogPosition) async throws -> LogPosition {
        guard try await consumer.needsWrite(for: entries) else { return end }
        return try await write(entries, upTo: end)
    }

    private func write(_ entries: [LogEntry], upTo end: LogPosition) async throws -> LogPosition {
        // Not beside a `begin`: what it reads of a snapshot may be older than these entries.
        let (stored, hasTaken) = try await turns.run { [database, durability, ownLog, logID, consumer] in
            try await database.write(durability, in: ownLog) { connection in
                var hasTaken = false
                let stored = try LogPositionsStore(connection).advance(logID, to: end, with: entries) {
                    try consumer.take($0, on: connection)
                    hasTaken = true
                }
                return (stored, hasTaken)
            }
        }
        if hasTaken { consumer.taken() }
        guard let stored else { throw FollowingError.noPosition }
        return stored
    }

    /// - Parameter context: the context of the request that this is done for; nil for the follower's own request.
    @discardableResult
    func begin(
        _ reason: BeginReason, after known: LogPosition?, _ context: BusContext? = nil, _ head: LogPage? = nil
    ) async throws -> LogPosition {
        let task = beginning.withLock { beginning in
            if let beginning { return beginning }
            let task = Task(executorPreference: executor) {
                defer { self.beginning.withLock { $0 = nil } }
                return try await self.turns.run { try await self.beginAlone(reason, after: known, context, head) }
            }
            beginning = task
            return task
        }
        return try await task.value
    }

    private func beginAlone(
        _ reason: BeginReason, after known: LogPosition?, _ context: BusContext?, _ knownHead: LogPage?
    ) async throws -> LogPosition {
        try Task.checkCancellation()
        // An earlier call, or another instance, may have begun meanwhile.
        if let stored = try await position(nil), LogPositionsStore.hasMoved(stored, from: known) { return stored }
        let page = if let knownHead { knownHead } else { try await head(context) }
        let followed = FollowedLog(page, of: logID, client)
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
        return try await database.write(durability, in: ownLog) { [logID] in
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

enum FollowerLimits {
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

/// One `begin` or `take` of a consumer at a time, whatever the log. A `begin` first deletes what an earlier one has stored,
/// and then stores a snapshot page by page.
final class ConsumerTurns: Sendable {
    private let last = Mutex<Task<Void, Never>?>(nil)

    /// Cancelling the caller cancels the body, which still has its turn.
    func run<T: Sendable>(_ body: @escaping @Sendable () async throws -> T) async throws -> T {
        let task = last.withLock { last in
            let before = last
            let task = Task {
                await before?.value
                return try await body()
            }
            last = Task { _ = await task.result }
            return task
        }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
