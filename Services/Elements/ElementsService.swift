import ParlorContracts
import ParlorReactor
import ParlorSecurity
import ParlorServiceKit
import ParlorStorage

/// The service's declaration, and its wiring.
public struct ElementsService: Service {
    public static let name = "elements"
    public static let settings = BoardLimits.settings
    public static let migrations = ElementsSchema.migrations
    public static let peer = BusPeer.service(
        name, requests: [Subject.membership], publishes: [Subject.discover], subscribes: [Subject.gatewayAlive])
    public static let log: LogContents = [.clientEvents, .roomChanges]
    // Enough to drag something over a board, with ten updates a second.
    public static let limits = RateLimit.ofElements
    public static let events = EventDescription.ofElements

    let elements: Elements
    let watch: GatewayMonitor

    public init(_ context: ServiceContext) { self.init(context, gateways: GatewayMembership(context.bus)) }

    init(_ context: ServiceContext, gateways: GatewayMembership) {
        watch = GatewayMonitor(database: context.database, membership: gateways, bus: context.bus, log: context.log)
        elements = Elements(
            database: context.database, limits: BoardLimits(context.configuration), ids: context.ids,
            clock: context.clock, watch: watch)
    }

    public func register(in requests: inout RequestTable) {
        let elements = elements
        requests.onRoom(.list) { try await elements.list($0) }
        requests.onRoom(.create) { try await elements.create($0) }
        requests.onRoom(.update) { try await elements.update($0) }
        requests.onRoom(.delete) { try await elements.delete($0) }
        requests.onRoom(.clear) { try await elements.clear($0) }
        requests.onContribution(Elements.contribution) { try BoardStore($2).summaries(of: $0, seenBy: $1) }
        requests.onRead(.existing) { try Elements.existing($0, on: $1) }
        requests.onSnapshot(.snapshot, of: elements.database) { try Elements.snapshot(after: $0, limit: $1, on: $2) }
        requests.onPeopleChange { try BoardStore($1).follow($0) }
        requests.onPresence(.presence) { try await elements.notePresence($0) }
    }

    public func start(on loop: EventLoop) throws { try watch.start(on: loop) }

    public func stop() async { await watch.stop() }
}

extension Endpoint {
    private static let board = "/api/rooms/:roomId/elements"
    private static let element = "\(board)/:elementId"
    private static let limits = ["elements"]

    fileprivate static let list = Endpoint("elements.list").route("GET", board).described(.listElements)
    fileprivate static let create = Endpoint("elements.create")
        .route("POST", board, limits: limits)
        .socketEvent("element:create", ackName: "element", limits: limits)
        .described(.createElement)
    fileprivate static let update = Endpoint("elements.update")
        .route("PATCH", element, limits: limits)
        .socketEvent("element:update", ackName: "element", limits: limits)
        .described(.updateElement)
    fileprivate static let delete = Endpoint("elements.delete")
        .route("DELETE", element, limits: limits)
        .socketEvent("element:delete", limits: limits)
        .described(.deleteElement)
    fileprivate static let clear = Endpoint("elements.clear")
        .route("DELETE", board, limits: limits)
        .socketEvent("room:clear", limits: limits)
        .described(.clearRoom)

    // For other services.
    fileprivate static let existing = Endpoint(Subject.existingElements)
    fileprivate static let snapshot = Endpoint(Subject.snapshot(of: ElementsService.logID))

    // For gateways.
    fileprivate static let presence = Endpoint("elements.presence")
}

/// The elements of all rooms. Use cases with rules have a file of their own.
struct Elements: Sendable {
    let database: any Database
    let limits: BoardLimits
    let ids: UUIDv7Generator
    let clock: any WallClock
    let watch: GatewayMonitor

    /// Changes a room's board, in one transaction.
    ///
    /// - Parameter bytes: the approximate size of what the closure captures, without ids.
    func change(
        for request: RoomRequest, holding bytes: Int = 0, _ body: @escaping @Sendable (Board) throws -> Reply
    ) async throws -> Reply {
        try await request.write(holding: bytes + 1024) { [limits, clock] connection in
            try body(Board(for: request, at: clock.now(), limits, on: connection))
        }
    }
}
