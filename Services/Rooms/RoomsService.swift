import ParlorContracts
import ParlorSecurity
import ParlorServiceKit
import ParlorStorage

/// The service's declaration, and its wiring.
public struct RoomsService: Service {
    public static let name = "rooms"
    public static let settings: [any AnySetting] = [Setting.rateLimits, RoomQuota.maxRooms, RoomQuota.maxUnanswered]
    public static let migrations = RoomsSchema.migrations
    public static let peer = BusPeer.service(name, requests: [Subject.people, Subject.answered])
    public static let log: LogContents = [.clientEvents, .roomChanges]
    public static let limits = RateLimit.ofRooms
    public static let events: [EventDescription] = [.roomCreated, .roomCreatedGlobal, .roomUpdated, .roomUpdatedGlobal]

    private let rooms: Rooms

    public init(_ context: ServiceContext) throws {
        rooms = Rooms(
            database: context.database, people: PeopleDirectory(bus: context.bus),
            answers: AnswerDirectory(bus: context.bus), quota: RoomQuota(context.configuration), clock: context.clock,
            ids: context.ids)
    }

    public func register(in requests: inout RequestTable) {
        let rooms = rooms
        requests.ownsRecords { try RoomsStore($1).version(of: $0) }
        requests.on(.create) { try await rooms.createRoom($0) }
        requests.onRead(.list) { try Rooms.listRooms($0, on: $1) }
        requests.onRead(.ids) { try Rooms.listRoomIDs($0, on: $1) }
        requests.on(.byPerson) { try await rooms.listRoomsByPerson($0) }
        requests.onRead(.room) { try Rooms.getRoom($0, on: $1) }
        requests.onRoom(.rename) { try await rooms.renameRoom($0) }
        requests.onRead(.membership) { try Rooms.findMembership($0, on: $1) }
        requests.onRead(.names) { try Rooms.listNames($0, on: $1) }
        requests.onRead(.partners) { try Rooms.listPartners($0, on: $1) }
        requests.on(.shared) { try await rooms.listSharedRooms($0) }
        requests.onSnapshot(.snapshot, of: rooms.database) { try Rooms.snapshot(after: $0, limit: $1, on: $2) }
    }
}

extension Endpoint {
    fileprivate static let create = Endpoint("rooms.create")
        .route("POST", "/api/rooms", answer: .room, limits: ["rooms"])
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

    // For gateways and other services.
    fileprivate static let ids = Endpoint(Subject.roomIDs)
    fileprivate static let membership = Endpoint(Subject.membership)
    fileprivate static let names = Endpoint(Subject.roomNames)
    fileprivate static let partners = Endpoint(Subject.partners)
    fileprivate static let shared = Endpoint(Subject.sharedRooms)
    fileprivate static let snapshot = Endpoint(Subject.snapshot(of: RoomsService.logID))
}

extension RoomsService: OwnsMembership {
    public static func members(of roomID: String, on connection: any Connection) throws -> [String] {
        try RoomsStore(connection).members(of: roomID)
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
