import ParlorContracts
import ParlorMessageBus
import ParlorReactor
import ParlorSecurity
import ParlorServiceKit
import ParlorStorage
import Synchronization

/// The service's declaration, and its wiring.
public final class RoomsService: Service {
    public static let name = "rooms"
    public static let settings: [any AnySetting] = [
        Setting.rateLimits, RoomQuota.maxRooms, RoomQuota.maxUnanswered, RoomQuota.additions, Setting.requiredServices,
    ]
    public static let migrations = RoomsSchema.migrations
    public static let peer = BusPeer.service(
        name, requests: [Subject.people, Subject.answered, Subject.fence(of: "*"), Subject.gatewayFence(of: "*")],
        publishes: [Subject.discover],
        subscribes: [
            Subject.gatewayAlive, Subject.forgetService, Subject.forgettingReports, Subject.roomsProbe,
            Subject.announcements,
        ])
    public static let log: LogContents = [.clientEvents, .roomChanges]
    public static let limits = RateLimit.ofRooms
    public static let events: [EventDescription] =
        [.roomCreated, .roomCreatedGlobal, .roomUpdated, .roomUpdatedGlobal] + EventDescription.ofPeople

    private let rooms: Rooms
    private let groups: Groups
    private let missed: MissedChanges
    private let gateways: HeardGateways
    private let older: OlderPrograms
    private let bus: any MessageBus
    private let log: Logger
    private let confirmation: Confirmation
    private let forgetting = Mutex<[BusSubscription]>([])

    public convenience init(_ context: ServiceContext) throws {
        self.init(context, gateways: HeardGateways(GatewayMembership(context.bus), context.bus))
    }

    init(
        _ context: ServiceContext, gateways: HeardGateways, margin: Duration = .milliseconds(500),
        patience: Duration = .seconds(10)
    ) {
        self.gateways = gateways
        (bus, log) = (context.bus, context.log)
        rooms = Rooms(
            database: context.database, people: PeopleDirectory(bus: context.bus),
            answers: AnswerDirectory(bus: context.bus), quota: RoomQuota(context.configuration), clock: context.clock,
            ids: context.ids)
        let required = Set(context.configuration[.requiredServices])
        confirmation = Confirmation(
            bus: context.bus, gateways: gateways, required: required, log: context.log, patience: patience)
        missed = MissedChanges(database: context.database, confirmation: confirmation)
        older = OlderPrograms(bus: context.bus, required: required)
        groups = Groups(
            rooms: rooms,
            changes: PeopleChanges(
                database: context.database, confirmation: confirmation, missed: missed, clock: context.clock,
                log: context.log),
            older: older, margin: margin)
    }

    public func start(on loop: EventLoop) throws {
        try gateways.start(on: loop)
        try older.start()
        let requested = Mutex<OperatorRequest?>(nil)
        let requests = try bus.subscribe(Subject.forgetService) { message in
            requested.withLock { $0 = OperatorRequest(message.data) }
        }
        let reports = try bus.subscribe(Subject.forgettingReports) { [self] message in
            guard let report = ForgettingReport(message.data), let request = requested.withLock({ $0 }),
                report.requestID == request.id, let service = request.service
            else { return }
            // A gateway refuses to forget what is required, or is still there.
            switch report.outcome {
            case .forgotten, .notWritten, .unknown: Task { await forget(service) }
            case .required, .announced: break
            }
        }
        forgetting.withLock { $0 = [requests, reports] }
        groups.changes.start()
    }

    private func forget(_ service: String) async {
        guard !confirmation.required.contains(service) else { return }
        do {
            try await rooms.keepers.forget(service, in: rooms.database)
            confirmation.forget(service)
        } catch {
            log.warning("a forgotten service still has to confirm changes", ["error": "\(error)"])
        }
    }

    public func stop() async {
        for subscription in forgetting.withLock({ $0 }) { subscription.cancel() }
        await groups.changes.stop()
        gateways.stop()
        older.stop()
    }

    public func register(in requests: inout RequestTable) {
        let (rooms, groups, missed) = (rooms, groups, missed)
        requests.ownsRecords { try RoomsStore($1).version(of: $0) }
        requests.on(.create) { [older] in try await rooms.createRoom($0, unless: older) }
        requests.onRead(.list) { try Rooms.listRooms($0, on: $1) }
        requests.onRead(.ids) { try Rooms.listRoomIDs($0, on: $1) }
        requests.on(.byPerson) { try await rooms.listRoomsByPerson($0) }
        requests.onRead(.room) { try Rooms.getRoom($0, on: $1) }
        requests.onRoom(.rename) { try await rooms.renameRoom($0) }
        requests.onRead(.participants) { try Rooms.listParticipants($0, on: $1) }
        requests.on(.add) { try await groups.addPeople($0) }
        requests.on(.remove) { try await groups.removePerson($0) }
        requests.on(.role) { try await groups.setRole($0) }
        requests.onRead(.pending) { try Rooms.listPendingChanges($0, on: $1) }
        requests.onRead(
            .membership,
            preparing: {
                try await rooms.keepers.prepare($0, in: rooms.database)
                try await missed.deliver(for: $0)
            },
            { try Rooms.findMembership($0, on: $1) })
        requests.onRead(.names) { try Rooms.listNames($0, on: $1) }
        // For Accounts of 0.2.
        requests.onRead(.partners) { request, connection in
            let partners = try RoomsStore(connection).partners(
                of: try request.fields.string("userId"), after: try request.fields.optionalCursor(),
                limit: PageLimits.maxIDs)
            return Page(partners).reply
        }
        requests.onRead(.roommates) { try Rooms.findRoommates($0, on: $1) }
        requests.on(.shared) { try await rooms.listSharedRooms($0) }
        requests.onSnapshot(.snapshot, of: rooms.database) { try Rooms.snapshot(after: $0, limit: $1, on: $2) }
    }
}

extension Endpoint {
    fileprivate static let create = Endpoint("rooms.create")
        .route("POST", "/api/rooms", answer: .room, limits: ["rooms"])
        .socketEvent("room:create", ackName: "room", answer: .room, limits: ["rooms"])
        .described(.createRoom)
    fileprivate static let list = Endpoint(Subject.rooms)
        .route("GET", "/api/rooms/my-rooms", answer: .rooms)
        .described(.listRooms)
    fileprivate static let byPerson = Endpoint("rooms.by-person")
        .route("GET", "/api/rooms/grouped-by-person", answer: .roomsByPerson)
        .described(.roomsByPerson)
    fileprivate static let room = Endpoint(Subject.room)
        .route("GET", "/api/rooms/:roomId", answer: .room)
        .described(.getRoom)
    fileprivate static let rename = Endpoint("rooms.rename")
        .route("PUT", "/api/rooms/:roomId/name", answer: .room, limits: ["rooms"])
        .described(.renameRoom)

    private static let people = "/api/rooms/:roomId/participants"
    fileprivate static let participants = Endpoint("rooms.participants")
        .route("GET", people, answer: .participants)
        .described(.listParticipants)
    fileprivate static let add = Endpoint("rooms.add")
        .route("POST", people, answer: .room, limits: ["rooms"])
        .socketEvent("participants:add", ackName: "room", answer: .room, limits: ["rooms"])
        .described(.addPeople)
    fileprivate static let remove = Endpoint("rooms.remove")
        .route("DELETE", "\(people)/:userId", limits: ["rooms"])
        .socketEvent("participant:remove", limits: ["rooms"])
        .described(.removePerson)
    fileprivate static let role = Endpoint("rooms.role")
        .route("PUT", "\(people)/:userId/role", answer: .room, limits: ["rooms"])
        .socketEvent("participant:role", ackName: "room", answer: .room, limits: ["rooms"])
        .described(.setRole)

    // For gateways and other services.
    fileprivate static let pending = Endpoint(Subject.pendingChanges)
    fileprivate static let ids = Endpoint(Subject.roomIDs)
    fileprivate static let membership = Endpoint(Subject.membership)
    fileprivate static let names = Endpoint(Subject.roomNames)
    fileprivate static let partners = Endpoint(Subject.partners)
    fileprivate static let roommates = Endpoint(Subject.roommates)
    fileprivate static let shared = Endpoint(Subject.sharedRooms)
    fileprivate static let snapshot = Endpoint(Subject.snapshot(of: RoomsService.logID))
}

extension RoomsService: OwnsMembership {
    public static func people(
        of roomID: String, for service: String, on connection: any Connection
    ) throws -> RoomPeople {
        let store = RoomsStore(connection)
        return RoomPeople(
            version: try store.version(of: roomID), userIDs: try store.members(of: roomID),
            isChanging: try PendingChangesStore(connection).isChanging(roomID, for: service))
    }
}

/// The rooms, their participants and their names. `RoomQueries.swift` has the reads; the other use cases have a
/// file each.
struct Rooms: Sendable {
    let database: any Database
    let people: PeopleDirectory
    let addresses = AddressRequests()
    let answers: AnswerDirectory
    let quota: RoomQuota
    let keepers = Keepers()
    let clock: any WallClock
    let ids: UUIDv7Generator

    /// - Throws: `room_not_found`.
    static func room(_ id: String, on connection: any Connection) throws -> Room {
        guard id.mayBeID, let room = try RoomsStore(connection).room(id) else {
            throw ServiceError.roomNotFound
        }
        return room
    }
}
