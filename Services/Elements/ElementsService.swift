import Contracts
import Reactor
import ServiceKit
import Storage

/// What the service offers, and what it is made of.
public struct ElementsService: Service {
    public static let name = "elements"
    public static let settings = BoardLimits.settings
    public static let migrations = ElementsDatabase.migrations
    public static let peer = BusPeer.service(
        name, requests: ["rooms.membership"], publishes: [Subject.discover], subscribes: [Subject.gatewayAlive])

    let elements: Elements
    let watch: GatewayWatch

    public init(_ context: ServiceContext) { self.init(context, gateways: GatewayMembership(context.bus)) }

    init(_ context: ServiceContext, gateways: GatewayMembership) {
        let database = ElementsDatabase(database: context.database, limits: BoardLimits(context.configuration))
        watch = GatewayWatch(database: database, membership: gateways, bus: context.bus, log: context.log)
        elements = Elements(database: database, ids: context.ids, clock: context.clock, watch: watch)
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

    public func start(on loop: EventLoop) throws { try watch.start(on: loop) }

    public func stop() async { await watch.stop() }
}
