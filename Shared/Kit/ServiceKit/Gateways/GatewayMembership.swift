import Contracts
import JSON
import MessageBus
import Reactor
import Synchronization

/// Which gateways are alive: one rule for all who keep something on behalf of a gateway.
///
/// A gateway publishes a heartbeat on `Subject.gatewayAlive` every `heartbeatInterval`. It is dead when it has been silent for
/// `lease`: within 3 s after its last word. Silence is counted in turns of a timer (`GatewayLeases`), and only while the
/// bus is connected: neither a held-up process nor one without its bus takes others for dead.
///
/// The members may be called from any thread.
public final class GatewayMembership: Sendable {
    public enum Change: Sendable, Equatable {
        /// The gateway's first word.
        case joined(String)
        /// The gateway was dead, and speaks.
        case returned(String)
        /// The gateway is dead.
        case left(String)
    }

    /// The interval between a gateway's heartbeats.
    public static let heartbeatInterval: Duration = .milliseconds(800)
    public static let turn: Duration = .milliseconds(200)
    public static let maxSilentTurns = GatewayLeases.maxSilentTurns
    /// The longest silence of a gateway that is not dead.
    public static let lease = turn * maxSilentTurns
    /// After this silence the first take a gateway for dead: the word falls between two of their turns.
    public static let shortestLease = turn * (maxSilentTurns - 1)

    private struct State {
        var leases = GatewayLeases()
        var running: Running?
        /// Set on the loop, once the turns have begun.
        var timer: LoopTimer?
    }

    private struct Running {
        let loop: EventLoop
        /// nil until `start` has subscribed.
        var subscription: BusSubscription?
        let onChange: @Sendable (Change) -> Void
    }

    private let bus: any MessageBus
    private let ownID: String?
    private let turn: Duration
    private let state = Mutex(State())

    /// - Parameters:
    ///   - ownID: the gateway that asks, if it is one: it is no member for itself.
    ///   - turn: another length for tests, which take turns themselves.
    public init(_ bus: any MessageBus, ownID: String? = nil, turn: Duration = GatewayMembership.turn) {
        self.bus = bus
        self.ownID = ownID
        self.turn = turn
    }

    /// Subscribes to heartbeats, and begins to count turns on the loop. Called once.
    ///
    /// - Parameters:
    ///   - loop: best the one that reads from the bus. While that is blocked, no turn is counted.
    ///   - onChange: `left` is called on the loop; `joined` and `returned` on the thread that
    ///     received the heartbeat. So they may come before a `left` that was decided earlier. A
    ///     caller that acts later checks `isAlive` again.
    public func start(
        on loop: EventLoop, onChange: @escaping @Sendable (Change) -> Void = { _ in }
    ) throws(BusError) {
        // Before it subscribes: the first heartbeat may come on another thread before `subscribe` returns.
        state.withLock { $0.running = Running(loop: loop, onChange: onChange) }
        do {
            let subscription = try bus.subscribe(Subject.gatewayAlive) { [weak self] message in
                if let gateway = message.data["gateway"]?.string { self?.renew(gateway) }
            }
            state.withLock { $0.running?.subscription = subscription }
        } catch {
            state.withLock { $0.running = nil }
            throw error
        }
        loop.execute { [weak self] in
            guard let self else { return }
            state.withLock { state in
                guard state.running != nil else { return }
                state.timer = loop.schedule(after: turn) { [weak self] in
                    guard let self else { return }
                    takeTurn()
                    self.state.withLock { $0.timer }?.rearm(after: self.turn)
                }
            }
        }
    }

    /// Ends what `start` began: on the loop, no change is called after this has returned.
    public func stop() {
        let (running, timer) = state.withLock { state in
            defer { (state.running, state.timer) = (nil, nil) }
            return (state.running, state.timer)
        }
        running?.subscription?.cancel()
        if let timer { running?.loop.execute { timer.cancel() } }
    }

    /// A gateway has spoken, with a heartbeat or with anything else.
    public func renew(_ gateway: String) {
        guard gateway != ownID else { return }
        let (change, running) = state.withLock { ($0.leases.renew(gateway), $0.running) }
        if let change { running?.onChange(change) }
    }

    /// A gateway has left something behind, and may be alive: if it stays silent, it leaves as one that has just spoken.
    public func expect(_ gateway: String) {
        guard gateway != ownID else { return }
        state.withLock { $0.leases.expect(gateway) }
    }

    /// True if a gateway sent a heartbeat, or was expected, and its lease has not ended since.
    public func isAlive(_ gateway: String) -> Bool { state.withLock { $0.leases.isAlive(gateway) } }

    /// In the order of their ids.
    public var alive: [String] { state.withLock { $0.leases.alive } }

    /// Counts a turn. The timer calls it; tests do.
    public func takeTurn() {
        let isConnected = bus.isConnected
        let (left, running) = state.withLock { state in
            guard isConnected else {
                state.leases.countDeafTurn()
                return ([String](), state.running)
            }
            return (state.leases.countTurn(), state.running)
        }
        for gateway in left { running?.onChange(.left(gateway)) }
    }
}
