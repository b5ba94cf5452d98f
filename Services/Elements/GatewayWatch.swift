import Contracts
import JSON
import MessageBus
import ServiceKit
import Storage
import Synchronization

/// Hears that gateways live, and closes the rooms that a dead one had open.
final class GatewayWatch: Sendable {
    private struct Running {
        let subscription: BusSubscription
        let task: Task<Void, Never>
    }

    private let database: any Database
    private let leases: GatewayLeases
    private let bus: any MessageBus
    private let log: Logger
    private let turn: Duration
    private let running = Mutex<Running?>(nil)

    init(database: any Database, leases: GatewayLeases, bus: any MessageBus, log: Logger, turn: Duration) {
        self.database = database
        self.leases = leases
        self.bus = bus
        self.log = log
        self.turn = turn
    }

    func start() throws(BusError) {
        let subscription = try bus.subscribe(Subject.gatewayAlive) { [self] message in
            if let gateway = message.data["gateway"]?.string { heard(from: gateway) }
        }
        let task = Task {
            var hasFoundEarlier = false
            while !Task.isCancelled {
                if !hasFoundEarlier { hasFoundEarlier = await findEarlierGateways() }
                do {
                    try await Task.sleep(for: turn)
                } catch {
                    return
                }
                // Who is off the bus hears nobody, and must not take that for their silence.
                if bus.isConnected { await takeTurn() } else { leases.forgetTurns() }
            }
        }
        running.withLock { $0 = Running(subscription: subscription, task: task) }
    }

    func stop() async {
        let stopping = running.withLock { running in
            defer { running = nil }
            return running
        }
        stopping?.subscription.cancel()
        stopping?.task.cancel()
        await stopping?.task.value
    }

    /// A gateway has spoken, whatever it said. One that was taken for dead is asked what is open there.
    func heard(from gateway: String) {
        guard leases.heard(from: gateway) else { return }
        log.info("a gateway is back", ["gateway": gateway])
        do throws(BusError) {
            // Gateways say what is open there to each service that announces itself.
            try bus.publish(Subject.discover, JSONValue.emptyObject)
        } catch {
            // The bus is going: gateways say it again when it is back.
            log.warning("a gateway was not asked what is open", ["gateway": gateway, "error": "\(error)"])
        }
    }

    /// Those that had rooms open when the service last ran. They may have died since.
    func findEarlierGateways() async -> Bool {
        do {
            for gateway in try await database.read({ try OpenRoomsStore($0).gateways() }) { leases.noticed(gateway) }
            return true
        } catch {
            log.warning("the rooms that gateways have open cannot be read", ["error": "\(error)"])
            return false
        }
    }

    func takeTurn() async {
        for gateway in leases.countTurn() {
            do {
                // Looked at again when the write's turn comes: what it says and opens until then stands.
                let closed = try await database.write { [leases] connection in
                    leases.beginClosing(gateway) ? try OpenRoomsStore(connection).closeAll(on: gateway) : 0
                }
                log.info("a gateway is gone", ["gateway": gateway, "roomsClosed": closed])
            } catch {
                leases.failedToClose(gateway)
                log.warning("the rooms of a dead gateway are still open", ["gateway": gateway, "error": "\(error)"])
            }
        }
    }
}
