import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceKitTesting
import ParlorStorage
import ParlorTestSupport

@testable import ParlorServiceKit

/// A service with a test's own handlers.
struct HostHarness: SuiteHarness {
    let serviceHarness: ServiceHarness<TestService>
    let bus = FakeBus()
    let database: SQLiteDatabase
    /// The records of the room, of which the rooms service answers with the last.
    let records = Collector<Membership>()
    /// The service's actions beside requests.
    let life = Collector<String>()

    var host: ServiceHost { serviceHarness.host }

    init(
        maxInFlight: Int = ServiceHost.maxInFlight, storage: DatabaseConfiguration = DatabaseConfiguration(),
        at location: SQLiteDatabase.Location = .temporary, lookingEvery interval: Duration = ServiceHost.lookInterval,
        _ register: @escaping @Sendable (inout RequestTable) -> Void = { _ in }
    ) throws {
        database = try SQLiteDatabase(location, migrations: [], configuration: storage)
        let life = life
        serviceHarness = try ServiceHarness(on: database, bus: bus, maxInFlight: maxInFlight, lookingEvery: interval) {
            _ in
            TestService(life: life, handlers: register)
        }
        try bus.respond(to: "rooms.membership", queue: "rooms") { [records] request in
            let isThere = request.data["roomId"]?.string == "room"
            let record = records.items.last ?? Self.room
            request.reply(isThere ? Reply(.ok, record.json).json : ServiceError.roomNotFound.json)
        }
    }

    static func started(
        maxInFlight: Int = ServiceHost.maxInFlight, storage: DatabaseConfiguration = DatabaseConfiguration(),
        _ register: @escaping @Sendable (inout RequestTable) -> Void = { _ in }
    ) async throws -> HostHarness {
        let harness = try HostHarness(maxInFlight: maxInFlight, storage: storage, register)
        try await harness.serviceHarness.start()
        return harness
    }

    /// Starts a service that holds the requests of `test.wait`: each opens `entered`, and is answered once `gate` is open.
    static func holding() async throws -> (harness: HostHarness, entered: Gate, gate: Gate) {
        let (entered, gate) = (Gate(), Gate())
        let harness = try await started { table in
            table.on("test.wait") { _ in
                entered.open()
                await gate.passed()
                return Reply()
            }
        }
        return (harness, entered, gate)
    }

    func stop(within deadline: Duration = .seconds(30)) async { await serviceHarness.stop(within: deadline) }

    /// Changes the record of the room, and raises the fence.
    func change(_ record: Membership) async throws {
        records.add(record)
        try await database.write { try RoomFences($0).raise(record.roomID, to: record.version) }
    }

    static let ada = Caller(id: "ada", username: "ada", firstName: nil)
    static let stranger = Caller(id: "eve", username: "eve", firstName: nil)
    static let room = Membership(
        roomID: "room",
        participants: [
            Participant(userID: "ada", username: "ada", firstName: nil, joinedAt: Timestamp(milliseconds: 0))
        ])

    @discardableResult
    func ask(
        _ subject: String, _ data: JSONValue = inRoom(), as caller: Caller? = ada,
        timeout: Duration = .seconds(60)
    ) async throws -> Reply {
        try await ask(subject, by: caller, data, timeout: timeout)
    }

    /// Returns the error that it answers with.
    func error(_ subject: String, _ data: JSONValue = inRoom(), as caller: Caller? = ada) async -> ServiceError? {
        await refusal(subject, by: caller, data)
    }

    static func inRoom(_ roomID: String = "room") -> JSONValue { JSONWriter.object { $0.member("roomId", roomID) } }

    /// The time of its clock: an older entry would be pruned.
    static let now = Timestamp(milliseconds: 1_700_000_000_000)

    /// Commits an entry.
    @discardableResult
    func append(_ emissions: [Emission] = []) async throws -> Int {
        try await database.write { connection in
            try EventLog.append(
                at: Self.now, roomID: "room", participants: ["ada"], emissions: emissions, on: connection)
        }
    }
}

struct TestService: Service {
    static let name = "test"
    static let migrations: [Migration] = []
    static let peer = BusPeer.service(name, requests: [Subject.membership])

    let life: Collector<String>
    static let log: LogContents = .clientEvents
    let handlers: @Sendable (inout RequestTable) -> Void

    init(life: Collector<String>, handlers: @escaping @Sendable (inout RequestTable) -> Void) {
        self.life = life
        self.handlers = handlers
    }

    init(_ context: ServiceContext) { self.init(life: Collector(), handlers: { _ in }) }

    func register(in requests: inout RequestTable) { handlers(&requests) }
    func start(on loop: EventLoop) { life.add("started") }
    func stop() async { life.add("stopped") }
}

/// Endpoints by their subjects alone, without routes.
extension RequestTable {
    mutating func on(_ subject: String, _ handler: @escaping Handler) { on(Endpoint(subject), handler) }
    mutating func onRead(_ subject: String, _ handler: @escaping ReadHandler) { onRead(Endpoint(subject), handler) }
    mutating func onRoom(_ subject: String, _ handler: @escaping RoomHandler) { onRoom(Endpoint(subject), handler) }
}
