import Contracts
import EventLog
import JSON
import MessageBus
import Reactor
import ServiceKit
import Storage
import Testing
import Workers

@testable import Rooms

/// The service as others see it: over a bus, with a clock that the test moves and Accounts played by a fake.
struct RoomsWorld {
    let bus = InProcessBus()
    let clock = ManualClock()
    let accounts: FakeAccounts
    /// Whether somebody has written to whoever Messaging is asked about, and how often it was.
    let messaging: FakeMessaging
    let context: ServiceContext
    let service: RoomsService
    let alice = Caller(id: "00000000-0000-7000-8000-00000000000a", username: "alice", firstName: "Alice")
    let bob = Caller(id: "00000000-0000-7000-8000-00000000000b", username: "bob", firstName: nil)
    let carol = Caller(id: "00000000-0000-7000-8000-00000000000c", username: "carol", firstName: "Carol")

    /// Runs the body while the service is on the bus.
    ///
    /// - Parameter settings: as flags.
    static func serving(_ settings: [String] = [], _ body: (RoomsWorld) async throws -> Void) async throws {
        let workers = WorkerPool(threads: 1, maxWaiting: 8)
        let group = try EventLoopGroup(loopCount: 1)
        let world = try RoomsWorld(settings, workers)
        let host = ServiceHost(world.service, world.context, on: group)
        try await host.start()
        try await body(world)
        await host.stop(within: .seconds(1))
        await workers.close()
        group.shutdown()
    }

    private init(_ settings: [String], _ workers: WorkerPool) throws {
        accounts = try FakeAccounts(on: bus)
        messaging = try FakeMessaging(on: bus)
        context = ServiceContext(
            configuration: try Configuration(RoomsService.settings, arguments: settings),
            database: try SQLiteDatabase(.temporary, migrations: RoomsService.migrations), bus: bus, clock: clock,
            workers: workers, dataDirectory: "")
        service = try RoomsService(context)
        for person in [alice, bob, carol] { accounts.add(person) }
    }

    // MARK: Asking

    func ask(
        _ subject: String, by caller: Caller? = nil, _ write: (inout JSONWriter) -> Void = { _ in }
    ) async throws -> Reply {
        let context = BusContext(requestID: "test", caller: caller?.json)
        return try Reply(await bus.request(subject, JSONWriter.object(write), context))
    }

    func create(
        _ caller: Caller, with other: Caller, name: String? = nil, clientRequestID: String? = nil
    ) async throws -> Reply {
        try await ask("rooms.create", by: caller) {
            $0.member("otherUserId", other.id)
            $0.member("name", name)
            $0.member("clientRequestId", clientRequestID)
        }
    }

    /// A room's id.
    func room(_ caller: Caller, with other: Caller, name: String? = nil) async throws -> String {
        try await create(caller, with: other, name: name).roomID
    }

    func get(_ roomID: String, by caller: Caller) async throws -> Reply {
        try await ask("rooms.get", by: caller) { $0.member("roomId", roomID) }
    }

    func rename(_ roomID: String, _ name: String, by caller: Caller) async throws -> Reply {
        try await ask("rooms.rename", by: caller) {
            $0.member("roomId", roomID)
            $0.member("name", name)
        }
    }

    func list(of caller: Caller, cursor: String? = nil) async throws -> Reply {
        try await ask("rooms.list", by: caller) { $0.member("cursor", cursor) }
    }

    func expectNothingHappened() async throws {
        #expect(try await list(of: alice).roomIDs.isEmpty)
        #expect(try await log().isEmpty)
    }

    func log() async throws -> [LogEntry] { try await EventLog(context.database).entries(since: 0, limit: 1000) }
}

extension Reply {
    var roomID: String {
        get throws { try #require(data["id"]?.string) }
    }

    /// Of the rooms in a list.
    var roomIDs: [String] { data.array?.compactMap { $0["id"]?.string } ?? [] }
}

/// The error of the contract that a call ends with; nil if it does not.
func failure(_ call: () async throws -> some Any) async -> ServiceError? {
    do {
        _ = try await call()
        return nil
    } catch let error as ServiceError {
        return error
    } catch {
        Issue.record("\(error) is no error of the contract")
        return nil
    }
}
