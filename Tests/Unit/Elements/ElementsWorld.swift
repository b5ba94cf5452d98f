import Contracts
import EventLog
import JSON
import MessageBus
import Reactor
import ServiceKit
import Storage
import Synchronization
import Testing
import Workers

@testable import Elements

/// The service on a bus, with a clock that the test moves and a rooms service that knows the rooms of the test.
final class ElementsWorld: Sendable {
    let bus: any MessageBus = InProcessBus()
    let clock = ManualClock()
    let service: ElementsService
    let database: SQLiteDatabase
    private let context: ServiceContext
    private let told = Mutex<[LogEntry]>([])

    /// Alice and Bob are in both; Carol is in neither.
    static let room = "room-1"
    static let otherRoom = "room-2"
    static let alice = "alice"
    static let bob = "bob"
    static let carol = "carol"

    private init(_ settings: [String]) throws {
        database = try SQLiteDatabase(.temporary, migrations: ElementsService.migrations)
        context = ServiceContext(
            configuration: try Configuration(ElementsService.settings, arguments: settings), database: database,
            bus: bus,
            clock: clock, workers: WorkerPool(threads: 1, maxWaiting: 1), dataDirectory: "/nonexistent")
        // Turns are the test's to take.
        service = ElementsService(context, gateways: GatewayMembership(bus, turn: .seconds(86_400)))
    }

    /// Runs the body while the service is on the bus.
    ///
    /// - Parameter settings: as flags.
    static func serving(_ settings: [String] = [], _ body: (ElementsWorld) async throws -> Void) async throws {
        let world = try ElementsWorld(settings)
        try world.bus.respond(to: "rooms.>", queue: "rooms") { answer($0) }
        try world.bus.subscribe(Subject.log(of: ElementsService.name)) { world.hear($0) }
        let group = try EventLoopGroup(loopCount: 1)
        let host = ServiceHost(world.service, world.context, on: group)
        try await host.start()
        try await body(world)
        await host.stop(within: .seconds(1))
        await world.context.workers.close()
        group.shutdown()
    }

    private func hear(_ message: BusMessage) {
        guard let entry = LogEntry(message.data) else {
            Issue.record("not an entry: \(message.data)")
            return
        }
        told.withLock { $0.append(entry) }
    }

    private static func answer(_ request: BusRequest) {
        guard request.subject == "rooms.membership", let id = request.data["roomId"]?.string else {
            Issue.record("an unexpected request: \(request.subject)")
            return request.reply(ServiceError(.internal, "unexpected").json)
        }
        guard id == room || id == otherRoom else { return request.reply(ServiceError.roomNotFound.json) }
        let participants = [alice, bob].map {
            Participant(userID: $0, username: $0, firstName: nil, joinedAt: Timestamp(milliseconds: 0))
        }
        request.reply(Reply(.ok, Membership(roomID: id, participants: participants).json).json)
    }

    // MARK: Asking

    func ask(_ subject: String, by userID: String? = nil, _ data: JSONValue) async throws -> Reply {
        let caller = userID.map { Caller(id: $0, username: $0, firstName: nil).json }
        return try Reply(await bus.request(subject, data, BusContext(requestID: "test", caller: caller)))
    }

    /// - Parameter json: the request as a client would write it, its `roomId` aside.
    func ask(
        _ subject: String, by userID: String = alice, in roomID: String = room, _ json: String = "{}"
    ) async throws -> Reply {
        let fields = try JSONValue(parsing: json)
        return try await ask(
            subject, by: userID,
            JSONWriter.object {
                $0.members(of: fields)
                $0.member("roomId", roomID)
            })
    }

    /// The code of the contract's error that a request ends with; nil if it does not.
    func refusal(
        _ subject: String, by userID: String = alice, in roomID: String = room, _ json: String = "{}"
    ) async throws -> ServiceError? {
        do {
            _ = try await ask(subject, by: userID, in: roomID, json)
            return nil
        } catch let error as ServiceError {
            return error
        }
    }

    // MARK: The usual calls

    /// - Parameter members: those beside the type, with a comma before each.
    func create(by userID: String = alice, in roomID: String = room, _ members: String = "") async throws -> JSONObject
    {
        try #require(
            try await ask("elements.create", by: userID, in: roomID, #"{"type":"note"\#(members)}"#).data.object)
    }

    func list(in roomID: String = room) async throws -> [JSONValue] {
        try #require(try await ask("elements.list", in: roomID).data.array)
    }

    func presence(of userID: String, in roomID: String = room, on gateway: String, isOpen: Bool) async throws -> Reply {
        try await ask(
            "elements.presence",
            JSONWriter.object {
                $0.member("gateway", gateway)
                $0.member("isOpen", isOpen)
                $0.name("rooms")
                $0.array(of: [roomID]) { json, roomID in
                    json.object {
                        $0.member("roomId", roomID)
                        $0.member("userId", userID)
                    }
                }
            })
    }

    /// A room's element count, badge and time of the last change, as one person sees them; nil if it has no board.
    func contribution(
        for userID: String, in roomID: String = room
    ) async throws -> (elementCount: Int?, badge: Int?, updatedAt: Int?)? {
        let reply = try await ask(
            "elements.contribute",
            JSONWriter.object {
                $0.member("userId", userID)
                $0.name("roomIds")
                $0.array(of: [roomID]) { $0.string($1) }
            })
        let rooms = try #require(reply.data["rooms"]?.array)
        guard let values = try #require(rooms.first).array else { return nil }
        #expect(values.count == ElementsService.contributedFields && values[1] == values[2])
        return (values[0].int, values[1].int, values[3].int)
    }

    func badge(of userID: String, in roomID: String = room) async throws -> Int {
        try await contribution(for: userID, in: roomID)?.badge ?? 0
    }

    /// What was told since the last time, in order.
    func takeEntries() -> [LogEntry] {
        told.withLock { told in
            defer { told = [] }
            return told
        }
    }

    /// What `parlor verify` would print of a room and of people.
    func countedAgain(_ room: String = room) async throws -> [String] {
        try await database.read { connection in
            let ofRoom = try ElementsService.differences(in: room, members: [], on: connection)
            return try (ofRoom + ElementsService.differencesOfPeople(on: connection)).map(\.text)
        }
    }

    func takeEmissions() -> [Emission] { takeEntries().flatMap(\.emissions) }
}

extension ElementsService {
    static let contributedFields = Elements.contribution.declaration.fields.count
}

extension JSONObject {
    func text(_ name: String) throws -> String { try #require(self[name]?.string) }
}
