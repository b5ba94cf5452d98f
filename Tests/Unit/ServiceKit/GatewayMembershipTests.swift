import Glibc
import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorTestSupport
import Testing

@testable import ParlorServiceKit

@Suite("Membership of gateways", .timeLimit(.minutes(1)))
struct GatewayMembershipTests {
    private let bus = FakeBus()
    private let changes = Collector<GatewayMembership.Change>()

    /// - Parameter turn: by default the test takes the turns.
    private func run(
        turn: Duration = .seconds(86_400), ownID: String? = nil,
        _ test: (GatewayMembership, EventLoop) async throws -> Void
    ) async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let membership = GatewayMembership(bus, ownID: ownID, turn: turn)
        let changes = changes
        try membership.start(on: group.loops[0]) { changes.add($0) }
        try await test(membership, group.loops[0])
        membership.stop()
        await finish(group)
    }

    private func beat(_ gateway: String) throws {
        try bus.publish(Subject.gatewayAlive, JSONWriter.object { $0.member("gateway", gateway) })
    }

    @Test("a dead gateway is detected within three seconds of its last message, and a late heartbeat kills none")
    func figures() {
        #expect(GatewayMembership.lease < .seconds(3))
        #expect(GatewayMembership.shortestLease >= GatewayMembership.heartbeatInterval * 3)
    }

    @Test("heartbeats and other messages make members, and silence ends them")
    func lifeAndDeath() async throws {
        try await run { membership, _ in
            try beat("a")
            membership.renew("b")
            try bus.publish(Subject.gatewayAlive, JSONValue(1))
            #expect(membership.alive == ["a", "b"])
            for _ in 1..<GatewayMembership.maxSilentTurns { membership.takeTurn() }
            try beat("a")
            membership.takeTurn()
            #expect(membership.alive == ["a"] && membership.isAlive("a") && !membership.isAlive("b"))
            try beat("b")
            #expect(changes.items == [.joined("a"), .joined("b"), .left("b"), .returned("b")])
        }
    }

    @Test("a heartbeat during the subscribing is a change like any other")
    func early() async throws {
        bus.whenSubscribing { [bus] in
            try? bus.publish(Subject.gatewayAlive, JSONWriter.object { $0.member("gateway", "a") })  // never refused
        }
        try await run { membership, _ in
            #expect(membership.alive == ["a"])
            #expect(changes.items == [.joined("a")])
        }
    }

    @Test("a gateway is not a member for itself")
    func own() async throws {
        try await run(ownID: "self") { membership, _ in
            try beat("self")
            membership.expect("self")
            #expect(membership.alive.isEmpty && changes.items.isEmpty)
        }
    }

    @Test("silence does not count while the bus is down")
    func busDown() async throws {
        try await run { membership, _ in
            try beat("a")
            for _ in 1..<GatewayMembership.maxSilentTurns { membership.takeTurn() }
            bus.setConnected(false)
            for _ in 0..<100 { membership.takeTurn() }
            bus.setConnected(true)
            for _ in 1..<GatewayMembership.maxSilentTurns { membership.takeTurn() }
            #expect(membership.isAlive("a"))
            membership.takeTurn()
            #expect(changes.items == [.joined("a"), .left("a")])
        }
    }

    @Test("turns are taken on the loop, and a blocked loop takes none")
    func turns() async throws {
        try await run(turn: .milliseconds(5)) { membership, loop in
            let isHeldUpDead = await withCheckedContinuation { continuation in
                loop.execute {
                    membership.renew("a")
                    usleep(UInt32(GatewayMembership.maxSilentTurns) * 5000 * 3)
                    continuation.resume(returning: !membership.isAlive("a"))
                }
            }
            #expect(!isHeldUpDead)
            #expect(await changes.first(2) == [.joined("a"), .left("a")])
        }
    }

    @Test("after stop nothing changes any more")
    func stopped() async throws {
        try await run { membership, _ in
            try beat("a")
            membership.stop()
            try beat("b")
            for _ in 0..<GatewayMembership.maxSilentTurns { membership.takeTurn() }
            #expect(changes.items == [.joined("a")])
        }
    }
}
