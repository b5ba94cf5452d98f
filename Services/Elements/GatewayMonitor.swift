import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceKit
import ParlorStorage
import Synchronization

/// Closes the rooms that a gateway had open when the gateway dies, and asks a gateway that returns for its
/// open rooms.
final class GatewayMonitor: Sendable {
    private struct State {
        /// The dead gateways whose rooms have yet to be closed.
        var due: Set<String> = []
        /// The task that closes them; nil while there are none.
        var closing: Task<Void, Never>?
        var finding: Task<Void, Never>?
        var isStopped = false
    }

    /// The pause before the database is tried again.
    private static let retryInterval: Duration = .milliseconds(250)

    private let database: any Database
    private let membership: GatewayMembership
    private let bus: any MessageBus
    private let log: Logger
    private let state = Mutex(State())

    init(database: any Database, membership: GatewayMembership, bus: any MessageBus, log: Logger) {
        self.database = database
        self.membership = membership
        self.bus = bus
        self.log = log
    }

    func start(on loop: EventLoop) throws(BusError) {
        try membership.start(on: loop) { [weak self] in self?.note($0) }
        let finding = Task {
            while !(await findEarlierGateways()) {
                do { try await Task.sleep(for: Self.retryInterval) } catch { return }
            }
        }
        state.withLock { $0.finding = finding }
    }

    func stop() async {
        membership.stop()
        let (closing, finding) = state.withLock { state in
            state.isStopped = true
            return (state.closing, state.finding)
        }
        for task in [closing, finding] { task?.cancel() }
        for task in [closing, finding] { await task?.value }
    }

    /// Notes a message of a gateway as a sign of life. Called before the message is stored.
    func renew(_ gateway: String) { membership.renew(gateway) }

    /// Watches the gateways that have rooms open in the database, as if each had just sent a message. They may have
    /// died since.
    ///
    /// - Returns: false if they could not be read.
    func findEarlierGateways() async -> Bool {
        do {
            let gateways = try await database.read { try OpenRoomsStore($0).gateways() }
            for gateway in gateways { membership.expect(gateway) }
            return true
        } catch {
            log.warning("the rooms that gateways have open cannot be read", ["error": "\(error)"])
            return false
        }
    }

    private func note(_ change: GatewayMembership.Change) {
        switch change {
        case .joined: break
        case .returned(let gateway): askWhatIsOpen(on: gateway)
        case .left(let gateway):
            state.withLock { state in
                guard !state.isStopped else { return }
                state.due.insert(gateway)
                if state.closing == nil { state.closing = Task { await closeDue() } }
            }
        }
    }

    private func askWhatIsOpen(on gateway: String) {
        log.info("gateway available again", ["gateway": gateway])
        do throws(BusError) {
            // Gateways send their open rooms to each service that announces itself.
            try bus.publish(Subject.discover, JSONValue.emptyObject)
        } catch {
            // The bus is disconnecting: gateways send them again when it is up again.
            log.warning("list of open rooms not requested from a gateway", ["gateway": gateway, "error": "\(error)"])
        }
    }

    // MARK: Closing

    private func closeDue() async {
        while let gateway = takeDue() {
            guard await !closeRooms(of: gateway) else { continue }
            state.withLock { _ = $0.due.insert(gateway) }
            do { try await Task.sleep(for: Self.retryInterval) } catch { return }
        }
    }

    private func takeDue() -> String? {
        state.withLock { state in
            let next = state.due.popFirst()
            if next == nil { state.closing = nil }
            return next
        }
    }

    /// - Returns: false if the database failed.
    private func closeRooms(of gateway: String) async -> Bool {
        do {
            // The write checks again whether the gateway is alive. So rooms that it reports before the
            // write stay open. If the gateway sends a message during the write, it counts as returned,
            // and is asked for its open rooms.
            let closed = try await database.write { [membership] connection in
                membership.isAlive(gateway) ? nil : try OpenRoomsStore(connection).closeAll(on: gateway)
            }
            if let closed { log.info("gateway lost", ["gateway": gateway, "roomsClosed": closed]) }
            return true
        } catch {
            log.warning("the rooms of a dead gateway are still open", ["gateway": gateway, "error": "\(error)"])
            return false
        }
    }

    // MARK: For tests

    /// Takes one membership turn, and returns once the rooms of the gateways that it declared dead are closed.
    func takeTurn() async {
        membership.takeTurn()
        await state.withLock { $0.closing }?.value
    }
}
