import Glibc
import ParlorContracts
import ParlorMessageBus
import ParlorReactor
import ParlorStorage
import ParlorWorkers
import Synchronization

extension ComponentFactory {
    /// Returns the factory of a service on the node's bus, with a database of its own.
    public static func service<S: Service>(_ type: S.Type) -> ComponentFactory {
        ComponentFactory(
            settings: [Setting.data, Setting.databaseURL, Setting.crashAt]
                + (type.mayHaveSeveralLogs ? [Setting.logs] : []) + type.settings, service: type.name,
            peer: type.peer, commands: type.commands
        ) { node, _ in
            try await ServiceComponent.start(type, in: node)
        }
    }
}

/// Says which of several calls is the first.
private final class Once: Sendable {
    private let isOver = Atomic(false)

    func isFirst() -> Bool { !isOver.exchange(true, ordering: .relaxed) }
}

/// A service as a part of a program.
struct ServiceComponent: Component {
    private let name: String
    private let host: ServiceHost
    private let bus: any MessageBus
    private let workers: WorkerPool
    /// The lock on the database, held until the process ends.
    private let lock: DataLock?

    var address: String? { nil }

    /// The limit of blocking calls that wait for a thread; more are refused at once. Hashing a
    /// password takes 0.2 s, or more under load, and no caller waits for more than a few seconds.
    private static let maxBlockingCalls = 40

    static func start<S: Service>(_ type: S.Type, in node: Node) async throws -> ServiceComponent {
        let log = node.log.labelled(S.name)
        let directory = node.configuration[.data]
        try DataFolder.make(directory)
        let location = try DatabaseLocation(of: S.name, node.configuration)
        var storage = DatabaseConfiguration()
        storage.priority = S.priority
        storage.crashPoint = node.configuration[.crashAt]
        if type.mayHaveSeveralLogs {
            storage.logCount = node.configuration[.logs]
            try location.requireSupport(ofLogs: storage.logCount)
        }
        let isEnding = Once()
        storage.onOtherLogs = {
            // A second signal would end it at once.
            guard isEnding.isFirst() else { return }
            log.error("another program has changed the number of logs: this one ends")
            kill(getpid(), SIGTERM)
        }
        storage.onConversion = { log.info("migrating the database", ["rows": "\($0)"]) }
        // Most of this work is hashing: beyond one thread for each processor, others only wait longer for their turn.
        let workers = WorkerPool(
            named: "\(S.name.prefix(10))-work", threads: min(2, EventLoopGroup.availableProcessors),
            maxWaiting: maxBlockingCalls)
        let (database, lock) = try await location.open(
            S.migrations, storage, alone: !node.isBusShared, on: workers, log: log)
        let context = ServiceContext(
            configuration: node.configuration, database: database, bus: node.bus, clock: node.clock, log: log,
            metrics: node.metrics, workers: workers, dataDirectory: directory, keeper: S.keeper)
        let host = ServiceHost(try S(context), context, on: node.group)
        try await host.start()
        log.info("serving", ["database": "\(location)"])
        return ServiceComponent(name: S.name, host: host, bus: node.bus, workers: workers, lock: lock)
    }

    /// Asks this instance directly. Over the bus, the request could reach another instance of the service.
    func isHealthy() async -> Bool { await host.isHealthy(within: .seconds(1)) }

    func status() async -> ComponentStatus? { host.status }

    func stop(within deadline: Duration) async {
        await host.stop(within: deadline)
        await workers.close()
    }
}
