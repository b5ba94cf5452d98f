import ParlorContracts
import ParlorLogging
import ParlorMessageBus
import ParlorReactor
import ParlorSecurity
import ParlorStorage
import ParlorWorkers

/// A service: its declarations, and the handlers of its requests. It has one folder and one executable.
public protocol Service: Sendable {
    /// The name, one word of a-z, 0-9 and _: the first token of its subjects, and the name of its database and of
    /// its event log.
    static var name: String { get }
    /// The settings in addition to those that every service has.
    static var settings: [any AnySetting] { get }
    static var migrations: [Migration] { get }
    /// The commands for operators that its programs have in addition to their own.
    static var commands: [Command] { get }
    /// The priority of its database's threads. A service whose work no one waits for yields to the others.
    static var priority: ThreadPriority { get }
    /// The service's rights on a bus with tokens. It may serve, publish and request subjects that begin with its name,
    /// and use those that every service needs (`BusPeer.service`). What else it needs is listed here.
    static var peer: BusPeer { get }

    init(_ context: ServiceContext) throws

    /// The entries that gateways find in its event log.
    static var log: LogContents { get }
    /// True if its writes of different rooms change no row in common, so that each room may have one of several logs
    /// (`LOGS`). All that it writes then names the room's log (`Database.write(in:)`).
    static var mayHaveSeveralLogs: Bool { get }
    /// The rate limits that its endpoints name, in addition to those of gateways.
    static var limits: [RateLimit] { get }

    /// The events that it emits to clients, for `asyncapi.json`.
    static var events: [EventDescription] { get }

    /// Registers its endpoints, each with its handler. They make up the manifest, in this order.
    func register(in requests: inout RequestTable)

    /// Starts work other than requests, such as subscriptions and periodic cleanup. Called once, before the
    /// service is announced; returns at once.
    ///
    /// - Parameter loop: the one that reads from the bus, for timers.
    func start(on loop: EventLoop) throws
    /// Ends the work of `start`, before the database is closed.
    func stop() async
}

extension Service {
    public static var settings: [any AnySetting] { [] }
    public static var commands: [Command] { [] }
    public static var priority: ThreadPriority { .normal }
    public static var peer: BusPeer { .service(name) }
    public static var log: LogContents { [] }
    public static var mayHaveSeveralLogs: Bool { false }
    public static var limits: [RateLimit] { [] }
    public static var events: [EventDescription] { [] }
    public func start(on loop: EventLoop) throws {}
    public func stop() async {}

    /// The service's event log, if it has only this one.
    public static var logID: LogID { LogID(name) }

    /// Returns the position of an entry of its only log, for a reply.
    public static func position(_ seq: Int) -> EntryPosition { EntryPosition(log: logID, seq: seq) }

    /// The name under which it keeps records of rooms; nil if it does not request them.
    package static var keeper: String? { peer.rights.request.contains(Subject.membership) ? name : nil }

    var requests: RequestTable {
        var requests = RequestTable(of: Self.self)
        register(in: &requests)
        return requests
    }

    /// The manifest that it announces.
    public var manifest: Manifest { requests.manifest }
    /// What it answers to a gateway that asks for its description.
    public var description: ServiceDescription { requests.description }
}

/// The dependencies of a service.
public struct ServiceContext: Sendable {
    public let configuration: Configuration
    public let database: any Database
    public let bus: any MessageBus
    public let clock: any WallClock
    public let ids: UUIDv7Generator
    public let randomness: any Randomness
    public let log: Logger
    public let metrics: Metrics
    /// The event logs over which the service spreads its rooms.
    public let logLayout: LogLayout
    /// The participants of rooms.
    public let memberships: Memberships
    /// The threads for blocking work, such as password hashing.
    public let workers: WorkerPool
    /// The folder for secrets.
    public let dataDirectory: String

    public init(
        configuration: Configuration, database: any Database, bus: any MessageBus, clock: any WallClock = SystemClock(),
        randomness: any Randomness = SystemRandomness(), log: Logger = .silent, metrics: Metrics = Metrics(),
        workers: WorkerPool, dataDirectory: String, keeper: String? = nil
    ) {
        self.configuration = configuration
        self.database = database
        self.bus = bus
        self.clock = clock
        self.ids = UUIDv7Generator(randomness: randomness)
        self.randomness = randomness
        self.log = log
        self.metrics = metrics
        guard let layout = LogLayout(numbers: database.logs) else {
            fatalError("no layout has the logs \(database.logs)")
        }
        logLayout = layout
        self.memberships = Memberships(bus, keeper: keeper)
        self.workers = workers
        self.dataDirectory = dataDirectory
    }

    public func newID(at time: Timestamp) -> String { ids.next(at: time.milliseconds) }
}
