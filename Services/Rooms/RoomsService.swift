import Contracts
import Security
import ServiceKit
import Storage

/// What the service offers, and what it is made of.
public struct RoomsService: Service {
    public static let name = "rooms"
    public static let settings: [any AnySetting] = [Setting.rateLimits, RoomQuota.maxRooms, RoomQuota.maxUnanswered]
    public static let migrations = RoomsSchema.migrations
    public static let peer = BusPeer.service(name, requests: ["accounts.people", "messaging.answered"])

    private let rooms: Rooms

    public init(_ context: ServiceContext) throws {
        rooms = Rooms(
            database: context.database, people: PeopleDirectory(bus: context.bus),
            answers: AnswerDirectory(bus: context.bus), quota: RoomQuota(context.configuration), clock: context.clock,
            ids: context.ids)
    }

    public var manifest: Manifest {
        Manifest(
            service: Self.name,
            routes: [
                Route("POST", "/api/rooms", "rooms.create", answer: .room, limits: ["rooms"]),
                Route("GET", "/api/rooms/my-rooms", Subject.rooms, answer: .rooms),
                Route("GET", "/api/rooms/grouped-by-person", "rooms.by-person", answer: .roomsByPerson),
                Route("GET", "/api/rooms/:roomId", Subject.room, answer: .room),
                Route("PUT", "/api/rooms/:roomId/name", "rooms.rename", answer: .room, limits: ["rooms"]),
            ],
            hasEventLog: true,
            logsWhatRoomsShow: true,
            limits: [RateLimit("rooms", perPerson: 60, perAddress: 600, seconds: 60)])
    }

    public func register(in requests: inout RequestTable) {
        let rooms = rooms
        requests.on("rooms.create") { try await rooms.createRoom($0) }
        requests.onRead(Subject.rooms) { try Rooms.listRooms($0, on: $1) }
        requests.onRead(Subject.roomIDs) { try Rooms.listRoomIDs($0, on: $1) }
        requests.on("rooms.by-person") { try await rooms.listRoomsByPerson($0) }
        requests.onRead(Subject.room) { try Rooms.getRoom($0, on: $1) }
        requests.onRoom("rooms.rename") { try await rooms.renameRoom($0) }
        requests.onRead("rooms.membership") { try Rooms.findMembership($0, on: $1) }
        requests.onRead("rooms.names") { try Rooms.listNames($0, on: $1) }
        requests.onRead("rooms.partners") { try Rooms.listPartners($0, on: $1) }
        requests.on("rooms.shared") { try await rooms.listSharedRooms($0) }
    }
}

extension RoomsService: OwnsMembership {
    public static func members(of roomID: String, on connection: any Connection) throws -> [String] {
        try RoomsStore(connection).members(of: roomID)
    }
}

/// Rooms, who is in them, and their names. Each use case is an extension in a file of its own.
struct Rooms: Sendable {
    let database: any Database
    let people: PeopleDirectory
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

    static func position(_ seq: Int) -> StreamPosition { StreamPosition(stream: RoomsService.name, seq: seq) }
}
