import JSON
import Reactor

/// The state that all threads of a `TCPBus` share.
struct TCPBusState {
    typealias FirstConnection = @Sendable (Result<Void, BusError>) -> Void

    struct Asked {
        let completion: TCPBus.Completion
        /// The request to repeat; nil for one that is sent once.
        var question: Question?
        /// Its number in `unanswered`.
        var repetition: UInt64?
    }

    struct Question {
        let subject: String
        let data: JSONValue
        let context: BusContext
        let deadline: Duration
        var isRepeated = false
    }

    /// Bounds repeated requests: if many get no reply in time because a service is slow, only a few
    /// are repeated, or it would be slower still. One for each ten requests, and a hundred at once.
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

    /// nil while there is none that the broker has welcomed.
    private(set) var connection: LoopBound<TCPBusConnection>?
    /// The broker's maximum of a line; nil without a limit of its own.
    private var maxMessage: Int?
    /// Lines for the loop to send; empty without a connection.
    var outgoing: [UInt8] = []
    /// The bytes that the loop has taken and the kernel has not.
    var unsent = 0
    private var isFlushing = false

    var lastID: UInt64 = 0
    private(set) var subscriptions: [UInt64: TCPBusSubscription] = [:]
    var watchers: [UInt64: @Sendable (BusState) -> Void] = [:]
    /// Requests of ours, by the number they carry.
    var asked = PendingRequests<Asked>()
    /// Those of them that are to be asked again, by their numbers.
    var unanswered = PendingRequests<UInt64>()
    var repeats = Repeats()
    /// Requests that others wait for, by where to reply.
    var serving = PendingRequests<ReplyAddress>()
    /// The state of the connection's timer.
    var watch = ExpiryWatch()
    /// The broker answers pings in order.
    var pongs: [@Sendable (Result<Void, BusError>) -> Void] = []

    var firstConnection: FirstConnection?
    var backoff = Backoff()
    /// The warnings since the last connection.
    private var warnings: Set<String> = []
    var isClosed = false
    var drainWaiters: [CheckedContinuation<Void, Never>] = []
    var counters = TCPBusCounters()

    /// As many troubles as several servers can have between them; what else there is stays untold.
    private static let maxWarnings = 64

    init(_ servers: BusServers, _ wire: any BusWire) {
        self.servers = servers
        self.wire = wire
    }

    private var nextExpiry: Duration? {
        earlier(asked.nextExpiry, earlier(serving.nextExpiry, unanswered.nextExpiry))
    }

    var pendingBytes: Int { outgoing.count + unsent }

    /// Appends a message to what waits.
    ///
    /// - Returns: false if it is longer than the broker takes. Nothing is appended then.
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

    /// The connection that has to send; returned once until it has sent.
    mutating func connectionToFlush() -> LoopBound<TCPBusConnection>? {
        guard !isFlushing, let connection, !outgoing.isEmpty || watch.isLate(for: nextExpiry) else {
            return nil
        }
        isFlushing = true
        return connection
    }

    /// Nothing for a connection that was lost.
    mutating func takeOutgoing(for asking: LoopBound<TCPBusConnection>) -> (bytes: [UInt8], expiry: Duration?) {
        guard asking == connection else { return ([], nil) }
        isFlushing = false
        let taken = outgoing
        outgoing = []
        // What came in one turn is what the next may bring.
        outgoing.reserveCapacity(min(taken.count, 64 * 1024))
        return (taken, watch.move(to: nextExpiry))
    }

    // MARK: Requests

    /// Has something asked again then, if it was not answered.
    mutating func repeatQuestion(_ id: UInt64, at time: Duration) {
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
        // A bus that is being closed takes nobody any more.
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

    /// - Returns: who waits for the first one, if this is it.
    mutating func connect(_ connection: LoopBound<TCPBusConnection>, _ welcome: BusWelcome) -> FirstConnection? {
        self.connection = connection
        maxMessage = welcome.maxMessage
        isFlushing = false
        backoff.reset()
        warnings = []
        for (id, subscription) in subscriptions.sorted(by: { $0.key < $1.key }) {
            wire.subscribe(id, subscription, to: &outgoing)
        }
        defer { firstConnection = nil }
        if firstConnection == nil { counters.reconnections &+= 1 }
        return firstConnection
    }

    /// Removes and returns all who have to be notified.
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
    /// Published while there was no connection.
    public internal(set) var droppedEvents = 0
    /// Not sent because too much waited already; `slowConsumer` is sent in their place.
    public internal(set) var refusedReplies = 0
    /// The same when even that had no room; their requests end by deadline.
    public internal(set) var droppedReplies = 0
    public internal(set) var malformedLines = 0
    /// Questions that were sent again, as no reply had come; each time counts.
    public internal(set) var repeatedQuestions = 0
}
