import Contracts
import Security
import ServiceKit
import Storage

/// What the service offers, and what it is made of.
public struct ElementsService: Service {
    public static let name = "elements"
    public static let settings = BoardLimits.settings
    public static let migrations = ElementsSchema.migrations
    public static let peer = BusPeer.service(
        name, requests: ["rooms.membership"], publishes: [Subject.discover], subscribes: [Subject.gatewayAlive])

    let elements: Elements
    let watch: GatewayWatch

    public init(_ context: ServiceContext) { self.init(context, watchTurn: GatewayLeases.turn) }

    init(_ context: ServiceContext, watchTurn: Duration) {
        watch = GatewayWatch(
            database: context.database, leases: GatewayLeases(), bus: context.bus, log: context.log, turn: watchTurn)
        elements = Elements(
            database: context.database, limits: BoardLimits(context.configuration), ids: context.ids,
            clock: context.clock, watch: watch)
    }

    public var manifest: Manifest {
        let board = "/api/rooms/:roomId/elements"
        let limit = "elements"
        return Manifest(
            service: Self.name,
            routes: [
                Route("GET", board, "elements.list"),
                Route("POST", board, "elements.create", limits: [limit]),
                Route("PATCH", "\(board)/:elementId", "elements.update", limits: [limit]),
                Route("DELETE", "\(board)/:elementId", "elements.delete", limits: [limit]),
                Route("DELETE", board, "elements.clear", limits: [limit]),
            ],
            socketEvents: [
                SocketEvent("element:create", "elements.create", ackName: "element", limits: [limit]),
                SocketEvent("element:update", "elements.update", ackName: "element", limits: [limit]),
                SocketEvent("element:delete", "elements.delete", limits: [limit]),
                SocketEvent("room:clear", "elements.clear", limits: [limit]),
            ],
            contribution: Elements.contribution,
            hasEventLog: true,
            logsWhatRoomsShow: true,
            presenceSubject: "elements.presence",
            // Dragging something over a board, ten times a second, with time to spare.
            limits: [RateLimit(limit, perPerson: 200, perAddress: 2000, seconds: 10)])
    }

    public func register(in requests: inout RequestTable) {
        let elements = elements
        requests.onRoom("elements.list") { try await elements.list($0) }
        requests.onRoom("elements.create") { try await elements.create($0) }
        requests.onRoom("elements.update") { try await elements.update($0) }
        requests.onRoom("elements.delete") { try await elements.delete($0) }
        requests.onRoom("elements.clear") { try await elements.clear($0) }
        requests.onRead("elements.contribute") { try Elements.contribute($0, on: $1) }
        requests.on("elements.presence") { try await elements.notePresence($0) }
    }

    public func start() throws { try watch.start() }

    public func stop() async { await watch.stop() }
}

/// The elements of all rooms. Use cases with rules have a file of their own.
struct Elements: Sendable {
    let database: any Database
    let limits: BoardLimits
    let ids: UUIDv7Generator
    let clock: any WallClock
    let watch: GatewayWatch

    /// Changes a room's board, in one transaction.
    ///
    /// - Parameter bytes: what the closure holds beside ids.
    func change(
        for request: RoomRequest, holding bytes: Int = 0, _ body: @escaping @Sendable (Board) throws -> Reply
    ) async throws -> Reply {
        try await database.write(holding: bytes + 1024) { [limits] connection in
            try body(Board(for: request, limits, on: connection))
        }
    }

    /// Where in the event log an answer belongs: after this entry.
    static func position(_ seq: Int) -> StreamPosition { StreamPosition(stream: ElementsService.name, seq: seq) }
}
