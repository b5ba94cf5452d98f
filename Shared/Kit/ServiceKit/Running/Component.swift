import ParlorContracts
import ParlorLogging
import ParlorMessageBus
import ParlorReactor

/// A part of a program that runs until it is stopped: a service, the gateway, the bus.
public protocol Component: Sendable {
    /// The address it serves at, for the ready line; nil if it has none.
    var address: String? { get }
    /// Checks that it works. A service has one second to reply.
    func isHealthy() async -> Bool
    /// Returns its state for `parlor status`; nil if there is nothing to report.
    func status() async -> ComponentStatus?
    /// Accepts no new work, finishes the work in progress, and ends; within the given time.
    func stop(within deadline: Duration) async
}

extension Component {
    public func status() async -> ComponentStatus? { nil }
}

/// A component's share of a `StatusReport`.
public struct ComponentStatus: Sendable {
    public let part: String
    public let figures: [StatusReport.Figure]
    public let positions: [StatusReport.Figure]

    public init(part: String, figures: [StatusReport.Figure], positions: [StatusReport.Figure]) {
        self.part = part
        self.figures = figures
        self.positions = positions
    }
}

/// The resources that all components of a process share.
public struct Node: Sendable {
    public let configuration: Configuration
    public let bus: any MessageBus
    /// True if other processes can join the bus, and so several may use one database.
    public let isBusShared: Bool
    public let group: EventLoopGroup
    public let clock: any WallClock
    public let log: Logger
    public let metrics: Metrics
    /// The names of all services in the process.
    public let services: Set<String>

    public init(
        configuration: Configuration, bus: any MessageBus, isBusShared: Bool, group: EventLoopGroup,
        clock: any WallClock = SystemClock(), log: Logger, metrics: Metrics = Metrics(), services: Set<String> = []
    ) {
        self.configuration = configuration
        self.bus = bus
        self.isBusShared = isBusShared
        self.group = group
        self.clock = clock
        self.log = log
        self.metrics = metrics
        self.services = services
    }
}

/// A factory of a component, whose settings are known before anything runs.
public struct ComponentFactory: Sendable {
    /// Starts a component, or returns nil if the settings want none. `running` are the program's components
    /// that have started before it.
    public typealias Start = @Sendable (Node, _ running: [any Component]) async throws -> (any Component)?

    public let settings: [any AnySetting]
    /// The name of the service, if the component is one.
    public let service: String?
    /// The component's identity and rights on the bus, for `bus-peers`.
    public let peer: BusPeer?
    /// The commands that the component adds to the program.
    public let commands: [Command]
    public let start: Start

    public init(
        settings: [any AnySetting], service: String? = nil, peer: BusPeer? = nil, commands: [Command] = [],
        start: @escaping Start
    ) {
        self.settings = settings
        self.service = service
        self.peer = peer
        self.commands = commands
        self.start = start
    }
}
