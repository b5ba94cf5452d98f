import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorServiceKit
import ParlorServiceKitTesting
import ParlorStorage
import Synchronization
import Testing

@testable import ParlorPush

/// The service, with a provider that records notifications, and the other services as far as push
/// may ask them.
final class PushHarness: SuiteHarness {
    let serviceHarness: ServiceHarness<OnlyRequests>
    let database: ForgetfulDatabase
    let provider: FakeProvider
    let messaging: FakeMessaging
    /// Its position in messaging's log.
    let position = Mutex<LogPosition?>(nil)

    static let room = "room"
    static let (ada, ben, eve) = ("ada", "ben", "eve")

    var service: PushService { serviceHarness.service.service }

    private init(_ flags: [String], on base: (any Database)?) throws {
        let provider = FakeProvider()
        database = ForgetfulDatabase(try base ?? SQLiteDatabase(.temporary, migrations: PushService.migrations))
        serviceHarness = try ServiceHarness(flags, on: database) { context in
            OnlyRequests(
                service: try PushService(context, provider: provider, learningTime: .seconds(86_400)))
        }
        self.provider = provider
        messaging = FakeMessaging(clock: serviceHarness.clock)
        try messaging.answer(on: serviceHarness.bus)
    }

    /// Runs the body while the service is on the bus, without its own timers: the test takes the
    /// turns.
    ///
    /// - Parameter database: SQLite in memory by default.
    static func serving(
        _ flags: String..., on database: (any Database)? = nil, body: (PushHarness) async throws -> Void
    ) async throws {
        let harness = try PushHarness(flags, on: database)
        try await harness.serviceHarness.run { try await body(harness) }
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

    /// Returns the error that a request is refused with; nil if it succeeds.
    func refusal(_ subject: String, by person: String?, json: String) async throws -> ServiceError? {
        await refusal(subject, by: person.map { Caller($0) }, try JSONValue(parsing: json))
    }

    /// Returns the tokens of a person's devices, in their order.
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
    /// Sets a hook that runs when messaging is asked what is unread, before it answers.
    func whenAsked(_ hook: @escaping @Sendable () async -> Void) { messaging.whenAsked(hook) }
    var isMessagingDown: Bool {
        get { messaging.isDown }
        set { messaging.isDown = newValue }
    }

    // MARK: Turns

    /// Reads messaging's log to its end.
    func follow() async throws {
        var isBehind = true
        while isBehind {
            let read = try await service.reader.only.step(from: position.withLock { $0 })
            position.withLock { $0 = read.0 }
            isBehind = read.isBehind
        }
    }

    /// Sends due jobs in both of the provider's environments, and waits until the results are
    /// stored.
    func work() async throws {
        try await takeTurns()
        try await settle()
    }

    func takeTurns() async throws {
        for worker in service.worker.workers { _ = try await worker.takeTurn() }
    }

    /// Waits until the provider's results are stored.
    func settle() async throws {
        while service.worker.workers.contains(where: { $0.inFlight > 0 }) { await Task.yield() }
        try await service.worker.results.write()
    }

    /// Makes a message that is due, to Ben's device `token`.
    ///
    /// - Returns: the message's id.
    func makeDue(_ text: String = "hello") async throws -> String {
        try await follow()
        _ = try await register("token")
        let id = send(text)
        try await follow()
        clock.advance(by: .seconds(3))
        return id
    }

    /// Advances the time, and checks that nothing is sent before its end.
    func expectNothing(for time: Duration) async throws {
        clock.advance(by: time - .milliseconds(1))
        try await work()
        #expect(provider.take().isEmpty)
        clock.advance(by: .milliseconds(1))
        try await work()
    }

    func health(_ environment: Device.Environment = .production) throws -> ProviderHealth {
        try #require(service.worker.workers.map(\.health).first { $0.environment == environment })
    }

    /// Proves the provider, so that many jobs may be in progress.
    func prove() { for worker in service.worker.workers { worker.health.note(.delivered) } }

    func jobs(for token: String) async throws -> Int {
        try await database.read { connection in
            try connection.first("SELECT count(*) FROM jobs WHERE token = $1", token) { $0.int(0) } ?? 0
        }
    }

    func jobs() async throws -> JobCounts { try await database.read { try JobsStore($0).counts() } }
}

extension JobCounts {
    var all: Int { held + watching + retrying + sending }
}

/// The service without its own background work.
struct OnlyRequests: Service {
    static let name = PushService.name
    static let settings = PushService.settings
    static let migrations = PushService.migrations
    static let limits = PushService.limits
    let service: PushService

    init(service: PushService) { self.service = service }
    init(_ context: ServiceContext) throws { service = try PushService(context) }
    func register(in requests: inout RequestTable) { service.register(in: &requests) }
}

/// Records notifications, and answers as it is told.
final class FakeProvider: PushProvider {
    static let name = "fake"
    static let settings: [any AnySetting] = []
    static let concurrency = 8
    let identity = "fake"

    private struct State {
        var sent: [Notification] = []
        var outcomes: [String: [PushOutcome]] = [:]
        var heldBack: Set<Device.Environment> = []
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    init() {}
    init(_ context: ServiceContext) throws {}

    func send(_ notification: Notification) async -> PushOutcome {
        let outcome = outcome(of: notification)
        await withCheckedContinuation { continuation in
            let goesOn = state.withLock { state in
                guard state.heldBack.contains(notification.device.environment) else { return true }
                state.waiting.append(continuation)
                return false
            }
            if goesOn { continuation.resume() }
        }
        return outcome
    }

    private func outcome(of notification: Notification) -> PushOutcome {
        state.withLock { state in
            state.sent.append(notification)
            let token = notification.device.token.text
            guard let next = state.outcomes[token]?.first else { return .delivered }
            state.outcomes[token]?.removeFirst()
            return next
        }
    }

    func stop() async {}

    /// Holds all answers in this environment until `goOn`.
    func holdBack(_ environment: Device.Environment) { state.withLock { _ = $0.heldBack.insert(environment) } }

    func goOn() {
        let waiting = state.withLock { state in
            defer { (state.waiting, state.heldBack) = ([], []) }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Sets the outcomes of a device's next attempts; later ones are delivered.
    func answer(_ outcomes: PushOutcome..., for token: String) { state.withLock { $0.outcomes[token] = outcomes } }

    /// The number of notifications since the last `take`.
    var sent: Int { state.withLock { $0.sent.count } }

    /// Returns the notifications since the last call.
    func take() -> [Notification] {
        state.withLock { state in
            defer { state.sent = [] }
            return state.sent
        }
    }
}

/// A database that sometimes does not answer a commit.
final class ForgetfulDatabase: Database {
    /// Whether the next commit is still to be forgotten. Of a task, as the service's host writes too, at times of its own.
    private final class Lapse: Sendable {
        let isDue = Atomic(true)
    }

    @TaskLocal private static var lapse: Lapse?

    private let base: any Database

    init(_ base: any Database) { self.base = base }

    var databaseID: String { base.databaseID }
    var logs: [Int] { base.logs }
    var statistics: DatabaseStatistics { base.statistics }
    func onCommit(_ hook: @escaping @Sendable ([any CommitEvent]) -> Void) { base.onCommit(hook) }
    func close() async { await base.close() }

    /// Commits the first write that the body waits for, without an answer.
    func forgettingCommit(_ body: () async throws -> Void) async throws {
        try await Self.$lapse.withValue(Lapse(), operation: body)
    }

    func snapshot(
        _ body: @escaping @Sendable (any Connection) throws -> Void,
        completion: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        base.snapshot(body, completion: completion)
    }

    func transaction(
        holding bytes: Int, _ durability: Durability, in log: Int, wanting key: WantedKey?,
        _ body: @escaping @Sendable (any Connection) throws -> Void
    ) async throws {
        try await base.transaction(holding: bytes, durability, in: log, wanting: key, body)
        if let lapse = Self.lapse, lapse.isDue.exchange(false, ordering: .relaxed) {
            throw StorageError.io("the commit was not answered")
        }
    }
}
