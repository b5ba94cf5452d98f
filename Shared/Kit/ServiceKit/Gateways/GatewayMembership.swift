import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import Synchronization

/// The set of gateways that are alive. All code that holds state on behalf of a gateway uses it, so one rule
/// applies everywhere.
///
/// A gateway publishes a heartbeat on `Subject.gatewayAlive` every `heartbeatInterval`. It counts as dead
/// after `lease` without one: within 3 s after its last heartbeat. Silence is counted in turns of a timer
/// (`GatewayLeases`), and only while the bus is connected. So neither a process that is held up nor one
/// without its bus treats others as dead.
///
/// The members may be called from any thread.
public final class GatewayMembership: Sendable {
    public enum Change: Sendable, Equatable {
        /// The gateway has sent its first heartbeat.
        case joined(String)
        /// The gateway had been dead, and has sent a heartbeat.
        case returned(String)
        /// The gateway is dead.
        case left(String)
    }

    /// The interval between a gateway's heartbeats.
    public static let heartbeatInterval: Duration = .milliseconds(800)
    public static let turn: Duration = .milliseconds(200)
    public static let maxSilentTurns = GatewayLeases.maxSilentTurns
    /// The longest silence of a gateway that counts as alive.
    public static let lease = turn * maxSilentTurns
    /// The shortest silence after which a gateway may count as dead, as a heartbeat falls between two turns.
    public static let shortestLease = turn * (maxSilentTurns - 1)

    private struct State {
        var leases = GatewayLeases()
        var running: Running?
        /// The timer, which is set on the loop once the turns have begun.
        var timer: LoopTimer?
    }

    private struct Running {
        let loop: EventLoop
        /// The subscription; nil until `start` has subscribed.
        var subscription: BusSubscription?
        let onChange: @Sendable (Change) -> Void
    }

    private let bus: any MessageBus
    private let ownID: String?
    private let turn: Duration
    private let state = Mutex(State())

    /// - Parameters:
    ///   - ownID: the id of this process's own gateway, which is not counted; nil if it has none.
    ///   - turn: the length of a turn. Tests set another one, and call `takeTurn` themselves.
    public init(_ bus: any MessageBus, ownID: String? = nil, turn: Duration = GatewayMembership.turn) {
        self.bus = bus
        self.ownID = ownID
        self.turn = turn
    }

    /// Subscribes to heartbeats, and begins to count turns on the loop. To be called once.
    ///
    /// - Parameters:
    ///   - loop: preferably the one that reads from the bus. While it is blocked, no turn is counted.
    ///   - onChange: `left` is reported on the loop; `joined` and `returned` on the thread that received the
    ///     heartbeat. So these may be reported before a `left` that was decided earlier. A caller that acts later
    ///     must check `isAlive` again.
    public func start(
        on loop: EventLoop, onChange: @escaping @Sendable (Change) -> Void = { _ in }
    ) throws(BusError) {
        // Set it before subscribing: the first heartbeat may arrive on another thread before `subscribe`
        // returns.
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

    /// Ends the work of `start`. If called on the loop, no `left` is reported after this has returned. A heartbeat that
    /// another thread is handling may still be reported.
    public func stop() {
        let (running, timer) = state.withLock { state in
            defer { (state.running, state.timer) = (nil, nil) }
            return (state.running, state.timer)
        }
        running?.subscription?.cancel()
        if let timer { running?.loop.execute { timer.cancel() } }
    }

    /// Notes a heartbeat, or any other message, of a gateway.
    public func renew(_ gateway: String) {
        guard gateway != ownID else { return }
        let (change, running) = state.withLock { ($0.leases.renew(gateway), $0.running) }
        if let change { running?.onChange(change) }
    }

    /// Notes a gateway that has left state behind and may be alive. If it stays silent, it counts as dead after a
    /// lease, as if it had just sent a heartbeat.
    public func expect(_ gateway: String) {
        guard gateway != ownID else { return }
        state.withLock { $0.leases.expect(gateway) }
    }

    /// Returns true if a gateway sent a heartbeat, or was expected, and its lease has not ended since.
    public func isAlive(_ gateway: String) -> Bool { state.withLock { $0.leases.isAlive(gateway) } }

    /// The gateways that are alive, in the order of their ids.
    public var alive: [String] { state.withLock { $0.leases.alive } }

    /// Counts a turn. Called by the timer, and by tests.
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
