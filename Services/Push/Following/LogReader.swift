import Contracts
import EventLog
import MessageBus
import ServiceKit
import Storage
import Synchronization

/// Follows messaging's log by a cursor in this service's database, and creates jobs from its
/// entries.
///
/// It reads batches of the log when it has time; the bus only signals that the log has grown. So a
/// sender waits for nothing here, and at most one page is in memory. Several instances on one
/// database follow side by side: entries whose jobs one has created are skipped by the others.
struct LogReader: Sendable {
    static let stream = "messaging"
    /// Entries that are asked for at once: few, as messaging makes the page of them between people's requests. Who is behind for many
    /// pages asks for more, up to sixteen times as many.
    private static let pageSize = 32
    private static let pagesOfOneSize = 16
    private static let maxDoublings = 4
    /// The shortest interval between reads while it is not behind: notifications are delayed for
    /// longer anyway.
    private static let pace: Duration = .milliseconds(200)
    /// The interval of reads without a signal: another instance may have received it, and ended.
    private static let idleInterval: Duration = .seconds(1)
    private static let retryInterval: Duration = .seconds(1)
    /// A cursor that has moved past nothing of interest is written so often: after a crash what came since is read again.
    private static let keepInterval: Duration = .seconds(60)

    let database: any Database
    let bus: any MessageBus
    let log: Logger
    let metrics: PushMetrics
    let plan: @Sendable () -> JobPlan
    /// Called when there are new jobs.
    let onJobs: @Sendable () -> Void
    let wakeSignal = AsyncSignal()
    private let logStart = LogStart()

    /// Subscribes to the log as a signal that it has grown: one instance gets each entry, and all
    /// get an announcement.
    func listen() throws(BusError) -> [BusSubscription] {
        [
            try bus.subscribe(Subject.log(of: Self.stream), queue: PushService.name) { _ in wakeSignal.signal() },
            try bus.subscribe(Subject.announce(of: Self.stream)) { _ in wakeSignal.signal() },
        ]
    }

    /// Until the task is cancelled.
    func run() async {
        var cursor: LogPosition?
        var keptAt = ContinuousClock.now
        var failure = RepeatedFailure()
        var pagesBehind = 0
        while !Task.isCancelled {
            var isBehind = false
            do {
                (cursor, isBehind) = try await step(from: cursor, after: pagesBehind)
                if let cursor, keptAt + Self.keepInterval <= .now {
                    try await keep(cursor)
                    keptAt = .now
                }
                if failure.end() { log.info("messaging's log is followed again") }
            } catch {
                if failure.note("\(error)") {
                    log.warning("messaging's log cannot be followed", ["error": "\(error)"])
                }
            }
            pagesBehind = isBehind ? pagesBehind + 1 : 0
            if isBehind { continue }
            await wakeSignal.wait(atMost: failure.isThere ? Self.retryInterval : Self.idleInterval)
            // What comes together is read together.
            try? await Task.sleep(for: Self.pace)  // cancelled at the end
        }
    }

    /// Reads on from a place, nil for the stored one.
    ///
    /// - Parameter pagesBehind: how many pages were read that were not the last.
    /// - Returns: where it has come to, and whether there is more.
    func step(from known: LogPosition?, after pagesBehind: Int = 0) async throws -> (LogPosition, isBehind: Bool) {
        guard let position = try await position(known) else { return (try await startAtHead(), false) }
        if pagesBehind == 0, let head = try await headIfNobodyHasDevices(), head.databaseID == position.databaseID,
            head.seq >= position.seq
        {
            return (head, false)
        }
        let doublings = min(pagesBehind / Self.pagesOfOneSize, Self.maxDoublings)
        let page = try await client.page(of: Self.stream, LogQuery(after: position, limit: Self.pageSize << doublings))
        // What was pruned is gone, and the log still the same: what it has left is all that is worth being told.
        guard page.head.databaseID == position.databaseID, page.isKnown || position.seq < page.oldest else {
            metrics.logRestarts.add()
            log.warning(
                "messaging's log has another past than push knows; no notifications for messages before its head",
                ["known": position.seq, "oldest": page.oldest, "head": page.head.seq])
            return (try await start(at: page.head, after: position), false)
        }
        guard let last = page.entries.last else { return (position, false) }
        let batch = EntryBatch(
            start: position, end: LogPosition(after: last, in: position.databaseID),
            events: page.entries.compactMap { entry in PushEvent(entry).map { (entry.seq, $0) } })
        return (try await take(batch), page.through < page.head.seq)
    }

    /// Starts at the end of the log, if push has never run on this database. Once a cursor is known to exist this asks nobody.
    ///
    /// A device is registered after this. `run` may come to its first step long after that, on a machine that is busy, and must
    /// not pass over what was sent meanwhile.
    ///
    /// - Parameter context: of the request that this is done for.
    func startIfNew(_ context: BusContext) async throws {
        guard !logStart.isKnown else { return }
        if try await position(nil) == nil { _ = try await startAtHead(context) }
        logStart.note()
    }

    /// - Parameter context: of the request that this is done for; nil for the reader's own question.
    private func startAtHead(_ context: BusContext? = nil) async throws -> LogPosition {
        try await start(at: head(context), after: nil)
    }

    /// The end of the log, if all up to it was written before anybody registered a device: then nothing in it is to be sent, and it
    /// is not read.
    private func headIfNobodyHasDevices() async throws -> LogPosition? {
        guard try await !hasDevices() else { return nil }
        let head = try await head()
        // A device that came before the end was known may be one for what came before that end.
        return try await hasDevices() ? nil : head
    }

    private func hasDevices() async throws -> Bool {
        try await database.read { try DevicesStore($0).hasDevices() }
    }

    private func position(_ known: LogPosition?) async throws -> LogPosition? {
        if let known { return known }
        return try await database.read { try CursorsStore($0).cursor(of: Self.stream) }
    }

    private func start(at head: LogPosition, after known: LogPosition?) async throws -> LogPosition {
        try await database.write(.relaxed) { try CursorsStore($0).restart(Self.stream, at: head, after: known) }
    }

    private func take(_ batch: EntryBatch) async throws -> LogPosition {
        let people = Set(batch.events.flatMap(\.event.people))
        let plan = plan()
        // Where nobody has a device that can be woken, nothing is written.
        guard !people.isEmpty,
            try await database.read({ try DevicesStore($0).isAnyReachable(of: Array(people), at: plan.now) })
        else { return batch.end }
        let position = try await write(batch, plan)
        onJobs()
        return position
    }

    /// Writes down that it has come so far.
    func keep(_ position: LogPosition) async throws {
        _ = try await write(EntryBatch(start: position, end: position, events: []), plan())
    }

    private func write(_ batch: EntryBatch, _ plan: JobPlan) async throws -> LogPosition {
        try await database.write(.relaxed) { try CursorsStore($0).follow(Self.stream, batch, plan) }
    }

    /// The end of the log.
    private func head(_ context: BusContext? = nil) async throws -> LogPosition {
        guard let context else { return try await client.page(of: Self.stream, .head).head }
        return try await client.page(of: Self.stream, .head, context).head
    }

    private var client: LogClient { LogClient(bus, requestID: "push-follow", owner: "Messaging") }
}

/// True once this process has seen a cursor in the database. Nothing removes one.
private final class LogStart: Sendable {
    private let hasCursor = Atomic(false)

    var isKnown: Bool { hasCursor.load(ordering: .acquiring) }
    func note() { hasCursor.store(true, ordering: .releasing) }
}
