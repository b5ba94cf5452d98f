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
    let context: ServiceContext
    let group: EventLoopGroup
    private let subscriptions = Mutex<[BusSubscription]>([])
    /// Where the log ends: what an announcement tells those who follow.
    private let head: Mutex<Head>
    private let isAnnouncementDue = Atomic(false)
    private let table: RequestTable
    /// As it is announced.
    private let manifest: JSONValue
    let underWay: RequestsUnderWay
    private let pruning: LogPruning
    let requests: Counter
    let failures: Counter
    let latency: Histogram

    private enum Head: Sendable {
        case stored(Bookmark)
        /// Its digest is made only when it is announced.
        case committed(StreamEntry)

        var seq: Int {
            switch self {
            case .stored(let bookmark): bookmark.seq
            case .committed(let entry): entry.seq
            }
        }

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
        var table = RequestTable()
        service.register(in: &table)
        var manifest = service.manifest
        manifest.batched = table.batched
        self.manifest = manifest.json
        self.table = table
        head = Mutex(.stored(Bookmark(databaseID: context.database.databaseID, seq: 0, digest: 0)))
        pruning = LogPruning(context.database, clock: context.clock, log: context.log)
        let labels: KeyValuePairs = ["service": name]
        requests = context.metrics.counter(
            "parlor_requests_total", "Requests that a service was asked.", labels: labels)
        failures = context.metrics.counter(
            "parlor_request_failures_total", "Requests that failed for no fault of the caller.", labels: labels)
        latency = context.metrics.histogram("parlor_request_seconds", "From a request to its answer.", labels: labels)
        context.metrics.watch(context.database, of: name)
        context.metrics.gauge(
            "parlor_log_seq", "The last entry of the service's event log that this instance knows of.", labels: labels
        ) { [weak self] in Double(self?.head.withLock { $0 }.seq ?? 0) }
    }

    /// Serves. When it returns, the service is on the bus.
    public func start() async throws {
        let log = LogRequests(database: context.database)
        let stored = try await log.head()
        head.withLock { $0 = .stored(stored) }
        context.database.onCommit { [weak self] entries in self?.publish(entries) }
        try service.start()
        var table = table
        table.on(Subject.health(of: name)) { [context] _ in
            try await context.database.read { _ in Reply() }
        }
        table.on(Subject.eventsSince(of: name)) { try await log.entries(for: $0) }
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

    var status: ComponentStatus {
        let statistics = context.database.statistics
        return ComponentStatus(
            part: name,
            figures: [
                .init("requests", requests.current), .init("failed", failures.current),
                .init("under way", underWay.count), .init("queued reads", statistics.queuedReads),
                .init("queued writes", statistics.queuedWrites), .init("commits", statistics.commits),
            ], places: [.init(name, head.withLock { $0 }.seq)])
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
            $0.member("manifest", manifest)
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
