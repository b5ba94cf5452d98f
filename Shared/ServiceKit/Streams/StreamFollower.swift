import Contracts
import JSON
import MessageBus
import Reactor

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
    private let onStart: @Sendable (Int) -> Void
    private var cursor = StreamCursor()
    private var databaseID: String?
    private var isFetching = false
    private var gapTimer: LoopTimer?
    private var subscriptions: [BusSubscription] = []
    private var isStopped = false

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// How long an entry may be missing before it is asked for: instances of a service publish in any order.
    static let patience: Duration = .milliseconds(25)
    /// Between two tries to ask an owner that does not answer, or not with what is missing.
    static let retryInterval: Duration = .milliseconds(250)

    /// - Parameters:
    ///   - deliver: called on the loop, with at least one entry; never after `stop` has come to the loop.
    ///   - onStart: called on the loop with the position after which it starts: when it is first known where the log stands,
    ///     and when the log is of another database; never after `stop`, like `deliver`.
    public init(
        _ service: String, bus: any MessageBus, on loop: EventLoop, log: Logger,
        deliver: @escaping @Sendable ([StreamEntry]) -> Void, onStart: @escaping @Sendable (Int) -> Void = { _ in }
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
        let subscription = try bus.subscribe(Subject.events(of: service)) { [weak self, loop] message in
            guard let self, let entry = StreamEntry(message.data) else { return }
            loop.execute { self.assumeIsolated { $0.receive(entry) } }
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
    public nonisolated func announced(databaseID: String, head: Int) {
        loop.execute { self.assumeIsolated { $0.noteAnnouncement(databaseID, head) } }
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

    private func receive(_ entry: StreamEntry) {
        handOn(cursor.receive(entry))
        fetchIfBehind(after: Self.patience)
    }

    private func handOn(_ entries: [StreamEntry]) {
        if !entries.isEmpty, !isStopped { deliver(entries) }
    }

    private func noteAnnouncement(_ id: String, _ head: Int) {
        guard !isStopped else { return }
        switch databaseID {
        case id:
            cursor.expect(head)
            fetch()
        case nil:
            databaseID = id
            let ready = cursor.start(at: head)
            onStart(head)
            handOn(ready)
            fetchIfBehind(after: Self.patience)
        default:
            log.warning("the event log is of another database now", ["service": service])
            databaseID = id
            cursor.restart(at: head)
            onStart(head)
        }
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

    private func fetch() {
        guard cursor.isBehind, !isFetching, !isStopped, let last = cursor.last else { return }
        isFetching = true
        let data = JSONWriter.object { $0.member("since", last) }
        bus.request(Subject.eventsSince(of: service), data, BusContext(requestID: "follow-\(service)")) {
            [self, loop, databaseID] answer in
            loop.execute { self.assumeIsolated { $0.fetched(answer, since: last, of: databaseID) } }
        }
    }

    private func fetched(_ answer: Result<JSONValue, BusError>, since: Int, of asked: String?) {
        isFetching = false
        // Asked of the database before: its answer says nothing of this one.
        guard asked == databaseID else { return fetchIfBehind(after: Self.patience) }
        guard case .success(let json) = answer, let reply = try? Reply(json),  // an owner in trouble is asked again
            let object = reply.data.object, let head = object["head"]?.int, let id = object["databaseId"]?.string
        else { return fetchIfBehind(after: Self.retryInterval) }
        guard id == databaseID else { return noteAnnouncement(id, head) }
        handOn(ready(of: object["entries"]?.array?.compactMap(StreamEntry.init) ?? []))
        cursor.expect(head)
        guard let last = cursor.last, last > since else { return fetchIfBehind(after: Self.retryInterval) }
        if last < head { fetch() } else { fetchIfBehind(after: Self.patience) }
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
