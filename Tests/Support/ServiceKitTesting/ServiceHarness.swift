import ParlorContracts
import ParlorEventLog
import ParlorMessageBus
import ParlorReactor
import ParlorServiceKit
import ParlorStorage
import ParlorTestSupport
import ParlorWorkers
import Testing

/// A service on an in-process bus, with a database of its own, a clock that the test moves, and its log captured.
///
/// Tests either call `run`, or `start` and `stop`. A suite's fixture is a `SuiteHarness` with methods of its domain.
public struct ServiceHarness<S: Service>: SuiteHarness {
    public let bus: any MessageBus
    public let clock: ManualClock
    public let log: CapturedLog
    public let context: ServiceContext
    public let service: S
    public let host: ServiceHost
    private let group: EventLoopGroup
    private let published = Collector<LogEntry>()
    private let following: [BusSubscription]

    public var serviceHarness: Self { self }

    /// - Parameters:
    ///   - settings: as flags.
    ///   - database: by default SQLite in memory.
    ///   - make: makes the service; for one that takes more than its context.
    public init(
        _ settings: [String] = [], on database: (any Database)? = nil, bus: any MessageBus = InProcessBus(),
        clock: ManualClock = ManualClock(), dataDirectory: String = "/nonexistent",
        maxInFlight: Int = ServiceHost.maxInFlight, lookingEvery interval: Duration = ServiceHost.lookInterval,
        make: (ServiceContext) throws -> S = { try S($0) }
    ) throws {
        let log = CapturedLog(level: .info)
        (self.bus, self.clock, self.log) = (bus, clock, log)
        context = ServiceContext(
            configuration: try Configuration(S.settings, arguments: settings),
            database: try database ?? SQLiteDatabase(.temporary, migrations: S.migrations), bus: bus, clock: clock,
            log: log.logger, workers: WorkerPool(threads: 1, maxWaiting: 8),
            dataDirectory: dataDirectory)
        service = try make(context)
        group = try EventLoopGroup(loopCount: 2)
        host = ServiceHost(service, context, on: group, maxInFlight: maxInFlight, lookingEvery: interval)
        following = try context.logLayout.logs(of: S.name).map { [published] logID in
            try bus.subscribe(Subject.log(of: logID)) { message in
                guard let entry = LogEntry(message.data), entry.log == logID.number else {
                    Issue.record("not an entry of \(logID): \(message.data)")
                    return
                }
                published.add(entry)
            }
        }
    }

    /// Runs the test while the service is on the bus. The service stops also if the test throws.
    public func run(_ test: () async throws -> Void) async throws {
        try await withCleanup {
            try await host.start()
            try await test()
        } _: {
            await stop()
        }
    }

    public func start() async throws { try await host.start() }

    /// Stops the service, and closes its database.
    public func stop(within deadline: Duration = .seconds(1)) async {
        await host.stop(within: deadline)
        await release()
    }

    /// Ends the threads, after a test that has stopped the host itself.
    public func release() async {
        for subscription in following { subscription.cancel() }
        await context.workers.close()
        await finish(group)
    }

    /// The entries that the service has published since the last call, in order.
    public func takeEntries() -> [LogEntry] { published.takeAll() }

    /// Waits until the service has published `count` entries since the last call that took some, and takes them.
    public func waitForEntries(_ count: Int) async -> [LogEntry] {
        await published.first(count)
        return published.takeAll()
    }
}
