import Contracts
import JSON
import MessageBus
import Reactor

/// Follows a service's event log: each entry once, in order, from where the service stood when it was first heard from.
///
/// Entries come by the bus as they are committed. A gap, the owner's announcement of a later head, or the bus' return makes
/// it ask the owner for what is missing. All of it happens on one loop.
public actor StreamFollower {
    public nonisolated let service: String
    private nonisolated let loop: EventLoop
    private let bus: any MessageBus
    private let log: Logger
    private let deliver: @Sendable ([StreamEntry]) -> Void
    private var cursor = StreamCursor()
    private var databaseID: String?
    private var isFetching = false
    private var gapTimer: LoopTimer?
    private var subscriptions: [BusSubscription] = []

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// How long an entry may be missing before it is asked for: instances of a service publish in any order.
    static let patience: Duration = .milliseconds(25)
    /// Between two tries to ask an owner that does not answer.
    static let retryInterval: Duration = .milliseconds(250)

    /// - Parameter deliver: called on the loop.
    public init(
        _ service: String, bus: any MessageBus, on loop: EventLoop, log: Logger,
        deliver: @escaping @Sendable ([StreamEntry]) -> Void
    ) {
        self.service = service
        self.bus = bus
        self.loop = loop
        self.log = log
        self.deliver = deliver
    }

    /// Starts to listen. It knows where it stands with the first announcement; tell it of each.
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
                if let last = follower.cursor.last, last < seq { follower.armGapTimer() }
            }
        }
    }

    private func receive(_ entry: StreamEntry) {
        handOn(cursor.receive(entry))
        if cursor.isBehind, cursor.last != nil { armGapTimer() }
    }

    private func handOn(_ entries: [StreamEntry]) {
        if !entries.isEmpty { deliver(entries) }
    }

    private func noteAnnouncement(_ id: String, _ head: Int) {
        if databaseID != id {
            if databaseID != nil { log.warning("the event log is of another database now", ["service": service]) }
            databaseID = id
            return handOn(cursor.start(at: head))
        }
        if let last = cursor.last, last < head { fetch() }
    }

    private func armGapTimer() {
        guard gapTimer == nil, !isFetching else { return }
        gapTimer = loop.schedule(after: Self.patience) { [weak self] in
            self?.assumeIsolated { follower in
                follower.gapTimer = nil
                follower.fetch()
            }
        }
    }

    private func fetch() {
        guard !isFetching, let last = cursor.last else { return }
        isFetching = true
        let data = JSONWriter.object { $0.member("since", last) }
        bus.request(Subject.eventsSince(of: service), data, BusContext(requestID: "follow-\(service)")) {
            [self, loop] answer in
            loop.execute { self.assumeIsolated { $0.fetched(answer, since: last) } }
        }
    }

    private func fetched(_ answer: Result<JSONValue, BusError>, since: Int) {
        isFetching = false
        guard case .success(let json) = answer, let reply = try? Reply(json),  // an owner in trouble is asked again
            let object = reply.data.object, let head = object["head"]?.int, let oldest = object["oldest"]?.int,
            let id = object["databaseId"]?.string
        else {
            gapTimer = loop.schedule(after: Self.retryInterval) { [weak self] in
                self?.assumeIsolated { follower in
                    follower.gapTimer = nil
                    follower.fetch()
                }
            }
            return
        }
        guard id == databaseID else { return noteAnnouncement(id, head) }
        if oldest > since + 1 {
            log.warning(
                "entries are gone from the event log", ["service": service, "from": since + 1, "to": oldest - 1])
            handOn(cursor.skip(to: oldest - 1))
        }
        for entry in object["entries"]?.array?.compactMap(StreamEntry.init) ?? [] { handOn(cursor.receive(entry)) }
        if let last = cursor.last, last > since, last < head { fetch() } else if cursor.isBehind { armGapTimer() }
    }
}
