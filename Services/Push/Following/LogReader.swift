import Contracts
import EventLog
import MessageBus
import ServiceKit
import Storage
import Synchronization
import Workers

/// Follows messaging's log with a cursor in this service's database, and creates jobs from its entries.
///
/// It reads batches of the log at its own pace; the bus only signals that the log has grown. So senders do
/// not wait for it, and at most one page is in memory. Several instances on one database follow concurrently:
/// entries whose jobs one has created are skipped by the others.
struct LogReader: Sendable {
    static let stream = "messaging"
    /// The number of entries in a request: few, as messaging reads them between people's requests. A reader
    /// that is many pages behind requests more, up to sixteen times as many.
    private static let pageSize = 32
    private static let pagesOfOneSize = 16
    private static let maxDoublings = 4
    /// The shortest interval between reads while it is not behind: notifications are delayed for
    /// longer anyway.
    private static let pace: Duration = .milliseconds(200)
    /// The interval of reads without a signal: the instance that received the signal may have ended.
    private static let idleInterval: Duration = .seconds(1)
    private static let retryInterval: Duration = .seconds(1)
    /// The interval at which a cursor without new jobs is stored: after a crash the entries since then are
    /// read again.
    private static let keepInterval: Duration = .seconds(60)

    let database: any Database
    let bus: any MessageBus
    let log: Logger
    /// Counts how often another log was found.
    let restarts: Counter
    /// The queue group: one of its instances receives each entry.
    let queue: String
    let plan: @Sendable () -> JobPlan
    /// Called when there are new jobs.
    let onJobs: @Sendable () -> Void
    let wakeSignal = AsyncSignal()
    private let logStart = LogStart()

    /// Subscribes to the log as a signal that it has grown: one instance receives each entry, and all receive
    /// announcements.
    func listen() throws(BusError) -> [BusSubscription] {
        [
            try bus.subscribe(Subject.log(of: Self.stream), queue: queue) { _ in wakeSignal.signal() },
            try bus.subscribe(Subject.announce(of: Self.stream)) { _ in wakeSignal.signal() },
        ]
    }

    /// Reads until the task is cancelled.
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
            // Entries that arrive together are read together.
            try? await Task.sleep(for: Self.pace)  // cancelled at the end
        }
    }

    /// Continues from a position, or from the stored one if it is nil.
    ///
    /// - Parameter pagesBehind: the number of pages read in a row that were not the last.
    /// - Returns: the new position, and true if there is more.
    func step(from known: LogPosition?, after pagesBehind: Int = 0) async throws -> (LogPosition, isBehind: Bool) {
        guard let position = try await position(known) else { return (try await startAtHead(), false) }
        if pagesBehind == 0, let head = try await headIfNobodyHasDevices(), head.databaseID == position.databaseID,
            head.seq >= position.seq
        {
            return (head, false)
        }
        let doublings = min(pagesBehind / Self.pagesOfOneSize, Self.maxDoublings)
        let page = try await client.page(of: Self.stream, LogQuery(after: position, limit: Self.pageSize << doublings))
        // Pruned entries are gone, but the log is still the same, and its remaining entries are all that is
        // worth a notification.
        guard page.head.databaseID == position.databaseID, page.isKnown || position.seq < page.oldest else {
            restarts.add()
            log.warning(
                "messaging's log was replaced; no notifications for messages before its head",
                ["known": position.seq, "oldest": page.oldest, "head": page.head.seq])
            return (try await start(at: page.head, after: position), false)
        }
        guard let last = page.entries.last else { return (position, false) }
        let batch = EntryBatch(
            start: position, end: LogPosition(after: last, in: position.databaseID),
            events: page.entries.compactMap { entry in PushEvent(entry).map { (entry.seq, $0) } })
        return (try await take(batch), page.through < page.head.seq)
    }

    /// Starts at the end of the log, if push has never run on this database. Once a cursor is known to exist,
    /// this does nothing.
    ///
    /// Called before a device is registered. On a busy machine, `run` may reach its first step long after
    /// that, and must not skip messages that were sent meanwhile.
    ///
    /// - Parameter context: the context of the request that this is done for.
    func startIfNew(_ context: BusContext) async throws {
        guard !logStart.isKnown else { return }
        if try await position(nil) == nil { _ = try await startAtHead(context) }
        logStart.note()
    }

    /// - Parameter context: the context of the request that this is done for; nil for the reader's own
    ///   request.
    private func startAtHead(_ context: BusContext? = nil) async throws -> LogPosition {
        try await start(at: head(context), after: nil)
    }

    /// Returns the end of the log, if everything up to it was written before any device was registered: then
    /// none of it has to be sent or read.
    private func headIfNobodyHasDevices() async throws -> LogPosition? {
        guard try await !hasDevices() else { return nil }
        let head = try await head()
        // Check again: a device may have been registered before the end was read, and then has to
        // be notified of entries before it.
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
        // If none of the people has a device that can be notified, nothing is written.
        guard !people.isEmpty,
            try await database.read({ try DevicesStore($0).isAnyReachable(of: Array(people), at: plan.now) })
        else { return batch.end }
        let position = try await write(batch, plan)
        onJobs()
        return position
    }

    /// Stores the position.
    func keep(_ position: LogPosition) async throws {
        _ = try await write(EntryBatch(start: position, end: position, events: []), plan())
    }

    private func write(_ batch: EntryBatch, _ plan: JobPlan) async throws -> LogPosition {
        try await database.write(.relaxed) { try CursorsStore($0).follow(Self.stream, batch, plan) }
    }

    /// Returns the end of the log.
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
