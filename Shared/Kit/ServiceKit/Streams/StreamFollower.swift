import Contracts
import JSON
import MessageBus
import Reactor
import Synchronization

/// Follows a service's event log: each entry once, in order, from where the service stood when it was first heard from.
///
/// Entries come by the bus as they are committed. When a gap stays open, or an announcement or somebody's answer names a
/// later entry, it asks the owner for what is missing, until it has it. All of it happens on one loop.
public actor StreamFollower {
    public nonisolated let service: String
    private nonisolated let loop: EventLoop
    private let bus: any MessageBus
    private let log: Logger
    private let deliver: @Sendable ([StreamEntry]) -> Void
    private let onStart: @Sendable (Bookmark) -> Void
    /// What has come and is not handed on yet.
    private let arrived = Mutex<[StreamEntry]>([])
    private var cursor = StreamCursor()
    private var databaseID: String?
    /// Where it started, or what it handed on last: what its owner's log has to have.
    private var known: Known?
    private var isFetching = false
    private var gapTimer: LoopTimer?
    private var subscriptions: [BusSubscription] = []
    private var isStopped = false

    private enum Known {
        case start(Bookmark)
        case entry(StreamEntry)

        var seq: Int {
            switch self {
            case .start(let bookmark): bookmark.seq
            case .entry(let entry): entry.seq
            }
        }

        var digest: Int {
            switch self {
            case .start(let bookmark): bookmark.digest
            case .entry(let entry): entry.digest
            }
        }
    }

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// How long an entry may be missing before it is asked for: instances of a service publish in any order.
    static let patience: Duration = .milliseconds(25)
    /// Between two tries to ask an owner that does not answer, or not with what is missing.
    static let retryInterval: Duration = .milliseconds(250)

    /// - Parameters:
    ///   - deliver: called on the loop, with at least one entry; never after `stop` has come to the loop.
    ///   - onStart: called on the loop with the place after which it starts: when it is first known where the log stands,
    ///     and when the log has another past, as that of another database or of a restored backup; never after `stop`,
    ///     like `deliver`.
    public init(
        _ service: String, bus: any MessageBus, on loop: EventLoop, log: Logger,
        deliver: @escaping @Sendable ([StreamEntry]) -> Void, onStart: @escaping @Sendable (Bookmark) -> Void = { _ in }
    ) {
        self.service = service
        self.bus = bus
        self.loop = loop
        self.log = log
        self.deliver = deliver
        self.onStart = onStart
    }

    /// Starts to listen, once. It knows where it stands with the first announcement: it has to be told of each, also of
    /// those that follow the bus' return.
    public nonisolated func start() throws(BusError) {
        let subscription = try bus.subscribe(Subject.events(of: service)) { [weak self] message in
            if let self, let entry = StreamEntry(message) { take(entry) }
        }
        loop.execute { self.assumeIsolated { $0.subscriptions.append(subscription) } }
    }

    public nonisolated func stop() {
        loop.execute {
            self.assumeIsolated { follower in
                follower.isStopped = true
                for subscription in follower.subscriptions { subscription.cancel() }
                follower.gapTimer?.cancel()
            }
        }
    }

    /// The owner has said where its log stands.
    public nonisolated func announced(_ head: Bookmark) {
        loop.execute { self.assumeIsolated { $0.noteHead(head) } }
    }

    /// Somebody was told that this entry exists: it is fetched if it does not come by itself.
    public nonisolated func expect(_ seq: Int) {
        loop.execute {
            self.assumeIsolated { follower in
                follower.cursor.expect(seq)
                follower.fetchIfBehind(after: Self.patience)
            }
        }
    }

    /// Those of one commit, or of one read from the bus, are handed on together.
    private nonisolated func take(_ entry: StreamEntry) {
        let isFirst = arrived.withLock { arrived in
            arrived.append(entry)
            return arrived.count == 1
        }
        guard isFirst else { return }
        loop.execute {
            let entries = self.arrived.withLock { arrived in
                defer { arrived = [] }
                return arrived
            }
            self.assumeIsolated { $0.receive(entries) }
        }
    }

    private func receive(_ entries: [StreamEntry]) {
        var ready: [StreamEntry] = []
        for entry in entries { ready += cursor.receive(entry) }
        handOn(ready)
        fetchIfBehind(after: Self.patience)
    }

    private func handOn(_ entries: [StreamEntry]) {
        guard let last = entries.last, !isStopped else { return }
        known = .entry(last)
        deliver(entries)
    }

    private func noteHead(_ head: Bookmark) {
        guard !isStopped else { return }
        switch databaseID {
        case head.databaseID:
            cursor.expect(head.seq)
            // What it says of an earlier place may be late, or of a restored backup: the owner's log tells.
            fetch(
                evenIfNothingIsMissing: known.map {
                    head.seq < $0.seq || (head.seq == $0.seq && head.digest != $0.digest)
                } ?? false)
        case nil:
            databaseID = head.databaseID
            known = .start(head)
            let ready = cursor.start(at: head.seq)
            onStart(head)
            handOn(ready)
            fetchIfBehind(after: Self.patience)
        default: restart(at: head)
        }
    }

    /// The log has another past than the one that was followed.
    private func restart(at head: Bookmark) {
        log.warning("the event log is another one now", ["service": service, "seq": head.seq])
        databaseID = head.databaseID
        known = .start(head)
        cursor.restart(at: head.seq)
        onStart(head)
    }

    private func fetchIfBehind(after delay: Duration) {
        guard cursor.isBehind, !isFetching, !isStopped, gapTimer == nil else { return }
        gapTimer = loop.schedule(after: delay) { [weak self] in
            self?.assumeIsolated { follower in
                follower.gapTimer = nil
                follower.fetch()
            }
        }
    }

    private func fetch(evenIfNothingIsMissing: Bool = false) {
        guard cursor.isBehind || evenIfNothingIsMissing, !isFetching, !isStopped, let last = cursor.last else { return }
        isFetching = true
        let (known, expected) = (known, cursor.highest)
        let data = JSONWriter.object {
            $0.member("since", last)
            if let known, known.seq == last { $0.member("digest", known.digest) }
        }
        let context = BusContext(requestID: "follow-\(service)", isQuestion: true)
        bus.request(Subject.eventsSince(of: service), data, context) { [self, loop, databaseID] answer in
            loop.execute {
                self.assumeIsolated { $0.fetched(answer, since: last, of: databaseID, expecting: expected) }
            }
        }
    }

    private func fetched(
        _ answer: Result<any BusPayload, BusError>, since: Int, of asked: String?, expecting expected: Int
    ) {
        isFetching = false
        // Asked of the database before: its answer says nothing of this one.
        guard asked == databaseID else { return fetchIfBehind(after: Self.patience) }
        // An owner in trouble is asked again.
        guard case .success(let payload) = answer, let reply = try? Reply(payload), let page = LogPage(reply.data)
        else { return fetchIfBehind(after: Self.retryInterval) }
        guard page.head.databaseID == databaseID else { return noteHead(page.head) }
        // What was pruned is gone, and the log still the same.
        guard page.isKnown || since < page.oldest else { return restart(at: page.head) }
        handOn(ready(of: page.entries))
        cursor.expect(page.head.seq)
        // What nobody spoke of since it was asked is as the owner says: entries that never were are not waited for.
        if cursor.highest == expected { cursor.settle(at: page.head.seq) }
        guard let last = cursor.last, last > since else { return fetchIfBehind(after: Self.retryInterval) }
        if last < page.head.seq { fetch() } else { fetchIfBehind(after: Self.patience) }
    }

    /// The owner's answer is its log as it is: what is missing between its entries is gone.
    private func ready(of entries: [StreamEntry]) -> [StreamEntry] {
        var ready: [StreamEntry] = []
        for entry in entries {
            if let last = cursor.last, entry.seq > last &+ 1 {
                log.warning(
                    "entries are gone from the event log",
                    ["service": service, "from": last &+ 1, "to": entry.seq &- 1])
                ready += cursor.skip(to: entry.seq &- 1)
            }
            ready += cursor.receive(entry)
        }
        return ready
    }
}
