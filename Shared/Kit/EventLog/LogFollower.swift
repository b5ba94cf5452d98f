import ParlorContracts
import ParlorLogging
import ParlorMessageBus
import ParlorReactor
import ParlorServiceClient
import Synchronization

/// Follows a service's event log: it delivers each entry once, in order, from the log's head when that is first known.
///
/// Entries arrive on the bus as they are committed. If a gap remains, or an announcement, a reply or the log's head names
/// a later entry, the follower fetches the missing entries from the owner until it has them. It passes over malformed
/// ones. All of this happens on one loop.
public actor LogFollower: LoopActor {
    public nonisolated let logID: LogID
    public nonisolated let loop: EventLoop
    private let bus: any MessageBus
    private let client: LogClient
    private let log: Logger
    private let deliver: @Sendable ([LogEntry]) -> Void
    private let onStart: @Sendable (LogPosition) -> Void
    /// The entries that have arrived and have not been passed to the loop yet.
    private let arrived = Mutex<[LogEntry]>([])
    private var cursor = LogCursor()
    private var databaseID: String?
    /// The start, or the last delivered entry. The owner's log must contain it.
    private var known: Known?
    private var isFetching = false
    /// True if the log may have lost entries that were delivered: the owner has to be asked, even if none is missing.
    private var mustVerify = false
    private var gapTimer: LoopTimer?
    private var subscriptions: [BusSubscription] = []
    private var isStopped = false
    private let lookInterval: Duration?
    private let restartInterval: Duration
    private var lastRestart: LoopInstant?
    /// True while the log is another one than the one that is followed, and it is too soon to restart.
    private var isLeftOut = false

    private enum Known {
        case start(LogPosition)
        case entry(LogEntry)

        var seq: Int {
            switch self {
            case .start(let position): position.seq
            case .entry(let entry): entry.seq
            }
        }

        var digest: Int {
            switch self {
            case .start(let position): position.digest
            case .entry(let entry): entry.digest
            }
        }
    }

    /// How long to wait for a missing entry before fetching it. Instances of a service publish in any order, so the
    /// entry may only be late.
    static let maxWait: Duration = .milliseconds(25)
    /// The pause between requests to an owner that does not reply, or whose reply lacks the missing
    /// entries.
    static let retryInterval: Duration = .milliseconds(250)

    /// - Parameters:
    ///   - faults: notes pages that are late or malformed, and malformed entries; one of its own if nil.
    ///   - lookInterval: how often the follower asks the owner for the log's head, first at the start. An entry that the bus
    ///     has lost is late by this at most. If it is nil, `announced` has to be called for each announcement, including
    ///     those after the bus reconnects.
    ///   - restartInterval: the least time between two replacements of the log. One that comes sooner is not followed until an
    ///     announcement after that time.
    ///   - deliver: called on the loop, with at least one entry; never after `stop` has taken effect on the loop.
    ///   - onStart: called on the loop with the position after which entries are delivered: when the log's head
    ///     is first known, and when the log was replaced by that of another database or of a restored backup.
    ///     Never called after `stop`, like `deliver`.
    public init(
        _ logID: LogID, bus: any MessageBus, on loop: EventLoop, log: Logger, faults: ReplyFaults? = nil,
        lookingEvery lookInterval: Duration? = nil, restartInterval: Duration = .zero,
        deliver: @escaping @Sendable ([LogEntry]) -> Void,
        onStart: @escaping @Sendable (LogPosition) -> Void = { _ in }
    ) {
        self.logID = logID
        self.bus = bus
        client = LogClient(
            bus, requestID: "follow-\(logID)", owner: logID.service, faults: faults ?? ReplyFaults(log: log))
        self.loop = loop
        self.log = log
        self.lookInterval = lookInterval
        self.restartInterval = restartInterval
        self.deliver = deliver
        self.onStart = onStart
    }

    /// Subscribes to the log. To be called once.
    public nonisolated func start() throws(BusError) {
        let subscription = try bus.subscribe(Subject.log(of: logID)) { [weak self] message in
            guard let self else { return }
            guard let entry = LogEntry.read(message, sharing: client.lists), entry.log == logID.number else {
                return client.noteMalformedEntry(of: logID)
            }
            take(entry)
        }
        enqueue { follower in
            follower.subscriptions.append(subscription)
            follower.look()
        }
    }

    public nonisolated func stop() {
        enqueue { follower in
            follower.isStopped = true
            for subscription in follower.subscriptions { subscription.cancel() }
            follower.gapTimer?.cancel()
        }
    }

    /// Handles the owner's announcement of the log's head.
    public nonisolated func announced(_ head: LogPosition) {
        enqueue { $0.noteHead(head) }
    }

    /// Notes that this entry exists, because a reply names it. It is fetched if it does not arrive on the bus.
    public nonisolated func expect(_ seq: Int) {
        enqueue { follower in
            follower.cursor.expect(seq)
            follower.fetchIfBehind(after: Self.maxWait)
        }
    }

    /// Asks the owner for the log's head, now and after each interval.
    private func look() {
        guard let lookInterval, !isStopped else { return }
        let next = loop.now + lookInterval
        // An instance that has just ended must not delay the next request.
        client.page(of: logID, .head, client.context(within: lookInterval * 4 / 5)) { [weak self] reply in
            self?.enqueue { follower in
                if case .success(let page) = reply { follower.noteHead(page.head) }
                follower.loop.schedule(after: max(next - follower.loop.now, .zero), follower.weakly { $0.look() })
            }
        }
    }

    /// Receives an entry. Entries that arrive before the loop takes them, often those of one commit, are delivered
    /// together.
    private nonisolated func take(_ entry: LogEntry) {
        let isFirst = arrived.withLock { arrived in
            arrived.append(entry)
            return arrived.count == 1
        }
        if isFirst { enqueue { $0.receiveArrived() } }
    }

    private func receiveArrived() {
        let entries = arrived.withLock { arrived in
            defer { arrived = [] }
            return arrived
        }
        var ready: [LogEntry] = []
        for entry in entries { ready += cursor.receive(entry) }
        handOn(ready)
        fetchIfBehind(after: Self.maxWait)
    }

    private func handOn(_ entries: [LogEntry]) {
        guard let last = entries.last, !isStopped else { return }
        known = .entry(last)
        deliver(entries)
    }

    private func noteHead(_ head: LogPosition) {
        guard !isStopped else { return }
        switch databaseID {
        case head.databaseID:
            cursor.expect(head.seq)
            // An announcement of an earlier position may be late, or may come from a restored backup. The owner's log
            // shows which.
            if let known, head.seq < known.seq || (head.seq == known.seq && head.digest != known.digest) {
                mustVerify = true
            }
            fetch()
        case nil:
            databaseID = head.databaseID
            known = .start(head)
            let ready = cursor.start(at: head.seq)
            onStart(head)
            handOn(ready)
            fetchIfBehind(after: Self.maxWait)
        default: restart(at: head)
        }
    }

    /// Restarts, because the log that was followed was replaced.
    private func restart(at head: LogPosition) {
        if let lastRestart, loop.now - lastRestart < restartInterval {
            if !isLeftOut {
                log.error(
                    "the event log was replaced again too soon; its entries are left out",
                    ["log": logID.name, "within": "\(restartInterval)"])
            }
            isLeftOut = true
            return
        }
        lastRestart = loop.now
        isLeftOut = false
        log.warning(
            "the event log was replaced; following the new one from its head",
            ["log": logID.name, "seq": head.seq])
        databaseID = head.databaseID
        known = .start(head)
        mustVerify = false
        cursor.restart(at: head.seq)
        onStart(head)
    }

    private func fetchIfBehind(after delay: Duration) {
        guard cursor.isBehind || mustVerify, !isFetching, !isStopped, gapTimer == nil else { return }
        let fetch = weakly { follower in
            follower.gapTimer = nil
            follower.fetch()
        }
        gapTimer = loop.schedule(after: delay, fetch)
    }

    private func fetch() {
        guard cursor.isBehind || mustVerify, !isFetching, !isStopped, let last = cursor.last else { return }
        isFetching = true
        let digest = known?.seq == last ? known?.digest : nil
        let query = Query(
            since: last, databaseID: databaseID, highest: cursor.highest, verifies: mustVerify)
        client.page(of: logID, LogQuery(since: last, digest: digest)) { [self] reply in
            enqueue { $0.fetched(reply, to: query) }
        }
    }

    /// What was known when a page was requested.
    private struct Query {
        let since: Int
        let databaseID: String?
        /// The last entry that somebody had named.
        let highest: Int
        /// True if the reply is to show whether the log still has what was delivered.
        let verifies: Bool
    }

    private func fetched(_ reply: Result<LogPage, ServiceError>, to query: Query) {
        let since = query.since
        isFetching = false
        guard !isStopped else { return }
        // The request was about the previous database, and its reply says nothing about this one.
        guard query.databaseID == databaseID else { return fetchIfBehind(after: Self.maxWait) }
        // After an error the owner is asked again, if it still has to be.
        guard case .success(let page) = reply else { return fetchIfBehind(after: Self.retryInterval) }
        guard page.head.databaseID == databaseID else { return noteHead(page.head) }
        // Pruned entries are gone, but the log is still the same.
        guard page.isKnown || since < page.oldest else { return restart(at: page.head) }
        if query.verifies { mustVerify = false }
        handOn(ready(of: page.entries))
        // Malformed entries at the end of a page would be requested again and again.
        if page.malformedCount > 0 { handOn(cursor.skip(to: page.through)) }
        cursor.expect(page.head.seq)
        // If nobody has named a later entry since the request, the owner's head is right. Stop
        // waiting for later ones: they never existed.
        if cursor.highest == query.highest { cursor.settle(at: page.head.seq) }
        guard let last = cursor.last, last > since else { return fetchIfBehind(after: Self.retryInterval) }
        if last < page.head.seq { fetch() } else { fetchIfBehind(after: Self.maxWait) }
    }

    /// Returns the entries that can be delivered. The owner's reply is authoritative, so entries missing in
    /// between are gone.
    private func ready(of entries: [LogEntry]) -> [LogEntry] {
        var ready: [LogEntry] = []
        for entry in entries {
            if let last = cursor.last, entry.seq > last + 1 {
                log.warning("event log entries missing", ["log": logID.name, "from": last + 1, "to": entry.seq - 1])
                ready += cursor.skip(to: entry.seq - 1)
            }
            ready += cursor.receive(entry)
        }
        return ready
    }
}
