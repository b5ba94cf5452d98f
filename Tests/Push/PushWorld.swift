import Contracts
import JSON
import MessageBus
import Reactor
import ServiceKit
import Storage
import Synchronization
import Testing
import Workers

@testable import Push

/// The service on a bus, with a clock that the test moves, a provider that notes what it is given, and the other services as far
/// as push may ask them.
final class PushWorld: Sendable {
    let bus: any MessageBus = InProcessBus()
    let clock = ManualClock()
    let database: SQLiteDatabase
    let service: PushService
    let provider: FakeProvider
    /// Where it has come to in messaging's log.
    private let place = Mutex<Bookmark?>(nil)
    private let context: ServiceContext
    private let messaging: FakeMessaging

    static let room = "room"
    static let (ada, ben, eve) = ("ada", "ben", "eve")

    private init(_ flags: [String]) throws {
        database = try SQLiteDatabase(.temporary, migrations: PushService.migrations)
        context = ServiceContext(
            configuration: try Configuration(PushService.settings, arguments: flags), database: database, bus: bus,
            clock: clock, workers: WorkerPool(threads: 1, maxWaiting: 1), dataDirectory: "/nonexistent")
        provider = try FakeProvider(context)
        messaging = FakeMessaging(clock: clock)
        service = try PushService(context, provider: provider, learningTime: .seconds(86_400))
    }

    /// Runs the body while the service is on the bus. Nothing of what it does by itself happens: the test takes the turns.
    static func serving(_ flags: String..., body: (PushWorld) async throws -> Void) async throws {
        let world = try PushWorld(flags)
        try world.messaging.answer(on: world.bus)
        let group = try EventLoopGroup(loopCount: 1)
        let host = ServiceHost(OnlyRequests(service: world.service), world.context, on: group)
        try await host.start()
        do {
            try await body(world)
        } catch {
            Issue.record(error)
        }
        await host.stop(within: .seconds(1))
        await world.context.workers.close()
        group.shutdown()
    }

    // MARK: People

    func register(
        _ token: String, by person: String = ben, environment: String = "production"
    ) async throws -> Reply.Status {
        try await ask("push.register", by: person) {
            $0.member("token", token)
            $0.member("platform", "ios")
            $0.member("environment", environment)
        }.status
    }

    func unregister(_ token: String, by person: String = ben) async throws {
        let reply = try await ask("push.unregister", by: person) { $0.member("token", token) }
        #expect(reply.status == .noContent)
    }

    @discardableResult
    func ask(
        _ subject: String, by person: String?, _ write: (inout JSONWriter) -> Void = { _ in }
    ) async throws -> Reply {
        let caller = person.map { Caller(id: $0, username: $0, firstName: nil).json }
        return try Reply(
            await bus.request(subject, JSONWriter.object(write), BusContext(requestID: "test", caller: caller)))
    }

    /// What a request is refused with; nil if it is not.
    func refusal(_ subject: String, by person: String?, json: String) async -> ServiceError? {
        do {
            let data = try JSONValue(parsing: json)
            _ = try await ask(subject, by: person) { $0.members(of: data) }
            return nil
        } catch {
            return error as? ServiceError
        }
    }

    /// The tokens of a person's devices, in their order.
    func devices(of person: String = ben) async throws -> [String] {
        try await database.read { connection in
            try connection.all("SELECT token FROM devices WHERE user_id = $1 ORDER BY token", person) { $0.text(0) }
        }
    }

    // MARK: Messages

    /// - Returns: the message's id.
    func send(_ text: String = "hello", from sender: String = ada, to others: [String] = [ben]) -> String {
        messaging.send(text, from: sender, to: others, in: Self.room)
    }

    func read(_ id: String, by person: String = ben) { messaging.read(id, by: person) }
    func delete(_ id: String) { messaging.delete(id) }
    func forgetLog(before seq: Int) { messaging.forgetLog(before: seq) }
    func replaceMessaging() { messaging.becomeAnother() }
    var isMessagingAway: Bool {
        get { messaging.isAway }
        set { messaging.isAway = newValue }
    }

    // MARK: Turns

    /// Reads messaging's log to its end.
    func follow() async throws {
        var isBehind = true
        while isBehind {
            let read = try await service.reader.step(from: place.withLock { $0 })
            place.withLock { $0 = read.0 }
            isBehind = read.isBehind
        }
    }

    /// Works on what is due, and waits for what becomes of it to be written.
    func work() async throws {
        _ = try await service.worker.takeTurn()
        await service.worker.settle()
    }

    func jobs() async throws -> JobCounts { try await database.read { try PushDatabase($0).counts() } }
}

extension PushWorker {
    /// Returns when all that was taken is written down.
    func settle() async {
        while results.inHand > 0 {
            await results.write()
            await Task.yield()
        }
    }
}

extension JobCounts {
    var all: Int { held + watching + retrying + sending }
}

/// The service without what it begins by itself.
private struct OnlyRequests: Service {
    static let name = PushService.name
    static let migrations = PushService.migrations
    let service: PushService
    var manifest: Manifest { service.manifest }

    init(service: PushService) { self.service = service }
    init(_ context: ServiceContext) throws { service = try PushService(context) }
    func register(in requests: inout RequestTable) { service.register(in: &requests) }
}

/// Notes what it is given, and answers as it is told.
final class FakeProvider: PushProvider {
    static let name = "fake"
    static let settings: [Setting] = []

    private struct State {
        var sent: [Notification] = []
        var outcomes: [String: [PushOutcome]] = [:]
    }

    private let state = Mutex(State())

    init(_ context: ServiceContext) throws {}

    func send(_ notification: Notification) async -> PushOutcome {
        state.withLock { state in
            state.sent.append(notification)
            let token = notification.device.token.text
            guard let next = state.outcomes[token]?.first else { return .delivered }
            state.outcomes[token]?.removeFirst()
            return next
        }
    }

    func stop() async {}

    /// What the next attempts for a device come to; those after them are delivered.
    func answer(_ outcomes: PushOutcome..., for token: String) { state.withLock { $0.outcomes[token] = outcomes } }

    /// What was sent since the last time.
    func take() -> [Notification] {
        state.withLock { state in
            defer { state.sent = [] }
            return state.sent
        }
    }
}
