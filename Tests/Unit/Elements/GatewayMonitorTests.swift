import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceKit
import ParlorStorage
import ParlorTestSupport
import Synchronization
import Testing

@testable import ParlorElements

@Suite("Gateways that live and die")
struct GatewayMonitorTests {
    private func takeTurns(_ count: Int, of harness: ElementsHarness) async {
        for _ in 0..<count { await harness.service.watch.takeTurn() }
    }

    private func beat(of gateway: String, on harness: ElementsHarness) throws {
        try harness.bus.publish(Subject.gatewayAlive, JSONWriter.object { $0.member("gateway", gateway) })
    }

    @Test("a dead gateway's rooms are closed, and others' are not")
    func death() async throws {
        try await ElementsHarness.serving { harness in
            let (alice, bob) = (ElementsHarness.alice, ElementsHarness.bob)
            _ = try await harness.presence(of: bob, on: "dead", isOpen: true)
            _ = try await harness.presence(of: alice, on: "alive", isOpen: true)
            await takeTurns(GatewayMembership.maxSilentTurns - 1, of: harness)
            try beat(of: "alive", on: harness)
            _ = try await harness.create()
            #expect(try await harness.badge(of: bob) == 0, "its lease has not ended")
            await takeTurns(1, of: harness)
            _ = try await harness.create()
            _ = try await harness.create(by: bob)
            #expect(try await harness.badge(of: bob) == 1)
            #expect(try await harness.badge(of: alice) == 0)
        }
    }

    @Test("rooms open on a gateway before the service started are closed if the gateway stays silent")
    func earlierGateway() async throws {
        try await ElementsHarness.serving { harness in
            let bob = ElementsHarness.bob
            let left = [OpenRoom(roomID: ElementsHarness.room, userID: bob)]
            _ = try await harness.database.write { [clock = harness.clock] in
                try OpenRoomsStore($0).open(left, on: "earlier", at: clock)
            }
            #expect(await harness.service.watch.findEarlierGateways())
            await takeTurns(GatewayMembership.maxSilentTurns - 1, of: harness)
            _ = try await harness.create()
            #expect(try await harness.badge(of: bob) == 0)
            await takeTurns(1, of: harness)
            _ = try await harness.create()
            #expect(try await harness.badge(of: bob) == 1)
        }
    }

    @Test("a gateway that returns from the dead is asked once which rooms are open")
    func back() async throws {
        try await ElementsHarness.serving { harness in
            let asked = Mutex(0)
            try harness.bus.subscribe(Subject.discover) { _ in asked.withLock { $0 += 1 } }
            try beat(of: "g1", on: harness)
            try harness.bus.publish(Subject.gatewayAlive, JSONValue(1))
            await takeTurns(GatewayMembership.maxSilentTurns, of: harness)
            #expect(asked.withLock { $0 } == 0)
            try beat(of: "g1", on: harness)
            try beat(of: "g1", on: harness)
            #expect(asked.withLock { $0 } == 1)
        }
    }

    @Test("a gateway that returns with a request is asked which rooms are open, too", arguments: [true, false])
    func backWithRequest(isOpen: Bool) async throws {
        try await ElementsHarness.serving { harness in
            let asked = Mutex(0)
            try harness.bus.subscribe(Subject.discover) { _ in asked.withLock { $0 += 1 } }
            _ = try await harness.presence(of: ElementsHarness.bob, on: "g1", isOpen: true)
            await takeTurns(GatewayMembership.maxSilentTurns, of: harness)
            #expect(asked.withLock { $0 } == 0)
            _ = try await harness.presence(of: ElementsHarness.alice, on: "g1", isOpen: isOpen)
            try beat(of: "g1", on: harness)
            #expect(asked.withLock { $0 } == 1)
        }
    }

    /// A gateway died with a room open; closing it is a write that the test may delay or fail. The
    /// test takes the turns.
    private func watching(
        _ test: (GatewayMonitor, FailingDatabase, GatewayMembership) async throws -> Void
    ) async throws {
        let bus = InProcessBus()
        let database = FailingDatabase(try SQLiteDatabase(.temporary, migrations: ElementsService.migrations))
        let membership = GatewayMembership(bus, turn: .seconds(86_400))
        let watch = GatewayMonitor(database: database, membership: membership, bus: bus, log: .silent)
        let group = try EventLoopGroup(loopCount: 1)
        let left = [OpenRoom(roomID: ElementsHarness.room, userID: ElementsHarness.bob)]
        _ = try await database.write { try OpenRoomsStore($0).open(left, on: "g", at: ManualClock()) }
        try watch.start(on: group.loops[0])
        watch.renew("g")
        try await test(watch, database, membership)
        await watch.stop()
        await database.close()
        await finish(group)
    }

    @Test("rooms that could not be closed are closed later")
    func failingDatabase() async throws {
        try await watching { watch, database, _ in
            database.failNextWrite()
            for _ in 0..<GatewayMembership.maxSilentTurns { await watch.takeTurn() }
            let kept = try await database.read { try OpenRoomsStore($0).gateways() }
            #expect(kept == [])
            #expect(!database.isFailing)
        }
    }

    @Test("a gateway that returns between its death and the write that closes its rooms keeps them")
    func backBeforeClosing() async throws {
        try await watching { watch, database, membership in
            let wasDead = Mutex(false)
            database.beforeNextWrite {
                wasDead.withLock { $0 = !membership.isAlive("g") }
                watch.renew("g")
            }
            for _ in 0..<GatewayMembership.maxSilentTurns { await watch.takeTurn() }
            #expect(wasDead.withLock { $0 })
            let kept = try await database.read { try OpenRoomsStore($0).gateways() }
            #expect(kept == ["g"])
        }
    }
}

/// A database whose next write fails, or is late, if the test says so.
private final class FailingDatabase: Database {
    private let base: any Database
    private let fails = Atomic(false)
    private let hook = Mutex<(@Sendable () -> Void)?>(nil)

    init(_ base: any Database) { self.base = base }

    func failNextWrite() { fails.store(true, ordering: .relaxed) }
    /// Runs before the next write begins.
    func beforeNextWrite(_ hook: @escaping @Sendable () -> Void) { self.hook.withLock { $0 = hook } }
    var isFailing: Bool { fails.load(ordering: .relaxed) }

    var databaseID: String { base.databaseID }
    var logs: [Int] { base.logs }
    var statistics: DatabaseStatistics { base.statistics }
    func onCommit(_ hook: @escaping @Sendable ([any CommitEvent]) -> Void) { base.onCommit(hook) }
    func close() async { await base.close() }

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
        let hook = hook.withLock { hook in
            defer { hook = nil }
            return hook
        }
        hook?()
        if fails.exchange(false, ordering: .relaxed) { throw StorageError.io("the write failed") }
        try await base.transaction(holding: bytes, durability, in: log, wanting: key, body)
    }
}
