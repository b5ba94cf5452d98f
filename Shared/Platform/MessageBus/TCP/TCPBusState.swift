import ParlorJSON
import ParlorReactor

/// The state that all threads of a `TCPBus` share.
struct TCPBusState {
    typealias FirstConnection = @Sendable (Result<Void, BusError>) -> Void

    struct Asked {
        let completion: TCPBus.Completion
        /// The request to repeat; nil if it is sent once.
        var repeatable: Repeatable?
        /// The request's number in `unanswered`.
        var repetition: UInt64?
    }

    struct Repeatable {
        let subject: String
        let data: JSONValue
        let context: BusContext
        let deadline: Duration
        var isRepeated = false
    }

    /// The budget of repeated requests. If many get no reply in time because a service is slow, only a few
    /// are repeated, so that they do not slow it more: one for each ten requests, and a hundred at once.
    struct Repeats {
        private static let most = 1000
        private static let price = 10
        private var saved = Repeats.most

        mutating func earn() { saved = min(saved + 1, Self.most) }

        mutating func take() -> Bool {
            guard saved >= Self.price else { return false }
            saved -= Self.price
            return true
        }
    }

    private let wire: any BusWire
    var servers: BusServers

    /// The connection; nil until the broker has welcomed it.
    private(set) var connection: LoopBound<TCPBusConnection>?
    /// The broker's limit of a line; nil if it has none of its own.
    private var maxMessage: Int?
    /// The lines for the loop to send; empty without a connection.
    var outgoing: [UInt8] = []
    /// The bytes that the loop has taken and the kernel has not.
    var unsent = 0
    private var isFlushing = false

    var lastID: UInt64 = 0
    private(set) var subscriptions: [UInt64: TCPBusSubscription] = [:]
    var watchers: [UInt64: @Sendable (BusState) -> Void] = [:]
    /// The requests that this peer has sent, by their numbers.
    var asked = PendingRequests<Asked>()
    /// The numbers of those requests that are to be repeated.
    var unanswered = PendingRequests<UInt64>()
    var repeats = Repeats()
    /// The requests that this peer serves, with the addresses to reply to.
    var serving = PendingRequests<ReplyAddress>()
    /// The state of the connection's timer.
    var watch = ExpiryWatch()
    /// The callbacks of pings. The broker answers pings in order.
    var pongs: [@Sendable (Result<Void, BusError>) -> Void] = []

    /// The broker's reason, if since the last connection it has refused to let this peer serve something.
    var refusedToServe: String?

    var firstConnection: FirstConnection?
    var backoff = Backoff()
    /// The warnings since the last connection.
    private var warnings: Set<String> = []
    var isClosed = false
    var drainWaiters: [CheckedContinuation<Void, Never>] = []
    var counters = TCPBusCounters()

    /// The limit of warnings: as many as several servers usually cause; more are not reported.
    private static let maxWarnings = 64

    init(_ servers: BusServers, _ wire: any BusWire) {
        self.servers = servers
        self.wire = wire
    }

    private var nextExpiry: Duration? {
        earlier(asked.nextExpiry, earlier(serving.nextExpiry, unanswered.nextExpiry))
    }

    var unsentBytes: Int { outgoing.count + unsent }

    /// Appends a message to the output.
    ///
    /// - Returns: false if it is longer than the broker accepts. Nothing is appended then.
    mutating func append(_ write: (inout [UInt8]) -> Void) -> Bool {
        let start = outgoing.count
        write(&outgoing)
        guard let maxMessage, outgoing.count - start > maxMessage else { return true }
        outgoing.removeSubrange(start...)
        return false
    }

    /// - Returns: true if the warning is new.
    mutating func note(warning: String) -> Bool {
        guard !isClosed, warnings.count < Self.maxWarnings else { return false }
        return warnings.insert(warning).inserted
    }

    /// Returns the connection if it must be asked to flush; nil if it was asked already, or has nothing to do.
    mutating func connectionToFlush() -> LoopBound<TCPBusConnection>? {
        guard !isFlushing, let connection, !outgoing.isEmpty || watch.isLate(for: nextExpiry) else {
            return nil
        }
        isFlushing = true
        return connection
    }

    /// Takes the output; empty for a connection that was lost.
    mutating func takeOutgoing(for asking: LoopBound<TCPBusConnection>) -> (bytes: [UInt8], expiry: Duration?) {
        guard asking == connection else { return ([], nil) }
        isFlushing = false
        let taken = outgoing
        outgoing = []
        // The next turn may have as much output as this one.
        outgoing.reserveCapacity(min(taken.count, 64 * 1024))
        return (taken, watch.move(to: nextExpiry))
    }

    // MARK: Requests

    /// Schedules the repetition of a request, in case it gets no reply.
    mutating func repeatRequest(_ id: UInt64, at time: Duration) {
        let repetition = unanswered.insert(id, deadline: time)
        asked.update(id) { $0.repetition = repetition }
    }

    mutating func takeAsked(_ id: UInt64) -> Asked? {
        let taken = asked.take(id)
        if let repetition = taken?.repetition { _ = unanswered.take(repetition) }
        return taken
    }

    // MARK: Subscriptions

    mutating func add(_ subscription: TCPBusSubscription) -> UInt64 {
        lastID += 1
        // A bus that is being closed accepts no subscription.
        guard drainWaiters.isEmpty else { return lastID }
        subscriptions[lastID] = subscription
        if connection != nil { wire.subscribe(lastID, subscription, to: &outgoing) }
        return lastID
    }

    mutating func removeSubscription(_ id: UInt64) {
        guard subscriptions.removeValue(forKey: id) != nil, connection != nil else { return }
        wire.unsubscribe(id, to: &outgoing)
    }

    mutating func removeAllSubscriptions() {
        for id in subscriptions.keys.sorted() { removeSubscription(id) }
    }

    // MARK: The connection

    /// - Returns: the callback of the first connection, if this is the first.
    mutating func connect(_ connection: LoopBound<TCPBusConnection>, _ welcome: BusWelcome) -> FirstConnection? {
        self.connection = connection
        maxMessage = welcome.maxMessage
        isFlushing = false
        backoff.reset()
        warnings = []
        refusedToServe = nil
        for (id, subscription) in subscriptions.sorted(by: { $0.key < $1.key }) {
            wire.subscribe(id, subscription, to: &outgoing)
        }
        defer { firstConnection = nil }
        if firstConnection == nil { counters.reconnections += 1 }
        return firstConnection
    }

    /// Clears the state of the connection, and returns all callbacks that must be called now.
    mutating func disconnect() -> Lost {
        let wasConnected = connection != nil
        connection = nil
        outgoing = []
        unsent = 0
        isFlushing = false
        watch.end()
        _ = serving.takeAll()
        _ = unanswered.takeAll()
        defer { pongs = [] }
        return Lost(
            asked: asked.takeAll().map(\.completion), pongs: pongs,
            watchers: wasConnected && !isClosed ? Array(watchers.values) : [])
    }

    // MARK: Closing

    enum ClosingStep {
        case none
        case close(LoopBound<TCPBusConnection>)
        case resume([CheckedContinuation<Void, Never>])
    }

    mutating func nextClosingStep() -> ClosingStep {
        guard !drainWaiters.isEmpty, asked.isEmpty, serving.isEmpty else { return .none }
        defer { isClosed = true }
        if let connection { return isClosed ? .none : .close(connection) }
        defer { drainWaiters = [] }
        return .resume(drainWaiters)
    }

    struct Lost {
        let asked: [TCPBus.Completion]
        let pongs: [@Sendable (Result<Void, BusError>) -> Void]
        let watchers: [@Sendable (BusState) -> Void]
    }
}

/// Counts failures of a bus over TCP since it was created.
public struct TCPBusCounters: Sendable, Equatable {
    public internal(set) var reconnections = 0
    /// Events published while there was no connection.
    public internal(set) var droppedEvents = 0
    /// Replies not sent because too much was queued; `slowConsumer` is sent instead.
    public internal(set) var refusedReplies = 0
    /// Replies for which not even `slowConsumer` had room; their requests end by deadline.
    public internal(set) var droppedReplies = 0
    public internal(set) var malformedLines = 0
    /// Read-only requests that were sent again, as no reply had arrived; each repetition counts.
    public internal(set) var repeatedRequests = 0
}
