import JSON
import Reactor

/// What the threads that use a `TCPBus` share.
struct TCPBusState {
    typealias FirstConnection = @Sendable (Result<Void, BusError>) -> Void

    /// nil while there is none that the broker has welcomed.
    private(set) var connection: LoopBound<TCPBusConnection>?
    /// Lines for the loop to send; empty without a connection.
    var outgoing: [UInt8] = []
    /// What the loop has taken and the kernel has not.
    var unsent = 0
    private var isFlushing = false

    var lastID: UInt64 = 0
    private(set) var subscriptions: [UInt64: TCPBusSubscription] = [:]
    var watchers: [UInt64: @Sendable (BusState) -> Void] = [:]
    /// Requests of ours, by the number they carry.
    var asked = PendingRequests<TCPBus.Completion>()
    /// Requests that others wait for: the numbers to reply to.
    var serving = PendingRequests<UInt64>()
    /// The broker answers pings in order.
    var pongs: [@Sendable (Result<Void, BusError>) -> Void] = []

    var firstConnection: FirstConnection?
    var backoff = Backoff()
    var lastTrouble: String?
    var isClosed = false
    var drainWaiters: [CheckedContinuation<Void, Never>] = []
    var counters = TCPBusCounters()

    var pendingBytes: Int { outgoing.count + unsent }

    /// The connection that has to be told to send, once until it has.
    mutating func connectionToFlush() -> LoopBound<TCPBusConnection>? {
        guard !isFlushing, let connection, !outgoing.isEmpty || asked.hasDeadlines || serving.hasDeadlines else {
            return nil
        }
        isFlushing = true
        return connection
    }

    /// Nothing for a connection that was lost.
    mutating func takeOutgoing(for asking: LoopBound<TCPBusConnection>) -> [UInt8] {
        guard asking == connection else { return [] }
        isFlushing = false
        let taken = outgoing
        outgoing = []
        // What came in one turn is what the next may bring.
        outgoing.reserveCapacity(min(taken.count, 64 * 1024))
        return taken
    }

    // MARK: Subscriptions

    mutating func add(_ subscription: TCPBusSubscription) -> UInt64 {
        lastID += 1
        // A bus that is being closed takes nobody any more.
        guard drainWaiters.isEmpty else { return lastID }
        subscriptions[lastID] = subscription
        if connection != nil { subscription.write(id: lastID, to: &outgoing) }
        return lastID
    }

    mutating func removeSubscription(_ id: UInt64) {
        guard subscriptions.removeValue(forKey: id) != nil, connection != nil else { return }
        LineWriter.unsubscribe(id, to: &outgoing)
    }

    mutating func removeAllSubscriptions() {
        for id in subscriptions.keys.sorted() { removeSubscription(id) }
    }

    // MARK: The connection

    /// - Returns: who waits for the first one, if this is it.
    mutating func connect(_ connection: LoopBound<TCPBusConnection>) -> FirstConnection? {
        self.connection = connection
        isFlushing = false
        backoff.reset()
        lastTrouble = nil
        for (id, subscription) in subscriptions.sorted(by: { $0.key < $1.key }) {
            subscription.write(id: id, to: &outgoing)
        }
        defer { firstConnection = nil }
        if firstConnection == nil { counters.reconnections &+= 1 }
        return firstConnection
    }

    /// Takes out everyone who has to be told.
    mutating func disconnect() -> Lost {
        let wasConnected = connection != nil
        connection = nil
        outgoing = []
        unsent = 0
        isFlushing = false
        _ = serving.takeAll()
        defer { pongs = [] }
        return Lost(
            asked: asked.takeAll(), pongs: pongs, watchers: wasConnected && !isClosed ? Array(watchers.values) : [])
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
