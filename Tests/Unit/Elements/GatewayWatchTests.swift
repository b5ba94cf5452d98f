import Contracts
import JSON
import MessageBus
import ServiceKit
import Synchronization
import Testing

@testable import Elements

@Suite("Gateways that live and die")
struct GatewayWatchTests {
    private func takeTurns(_ count: Int, of world: ElementsWorld) async {
        for _ in 0..<count { await world.service.watch.takeTurn() }
    }

    private func beat(of gateway: String, on world: ElementsWorld) throws {
        try world.bus.publish(Subject.gatewayAlive, JSONWriter.object { $0.member("gateway", gateway) })
    }

    @Test("a lease ends after ten silent turns, and a word begins it anew")
    func leases() {
        let leases = GatewayLeases()
        _ = leases.heard(from: "g1")
        _ = leases.heard(from: "g2")
        for _ in 1..<GatewayLeases.maxSilentTurns { #expect(leases.countTurn().isEmpty) }
        #expect(leases.heard(from: "g2") == false)
        #expect(leases.countTurn() == ["g1"])
        #expect(leases.countTurn() == ["g1"], "until its rooms are closed")
        #expect(leases.beginClosing("g1") && !leases.beginClosing("g2") && !leases.beginClosing("unknown"))
        #expect(leases.countTurn().isEmpty)
        leases.failedToClose("g1")
        #expect(leases.countTurn() == ["g1"])
        #expect(leases.beginClosing("g1"))
        #expect(leases.heard(from: "g1"), "it is back, and has to say again what is open")
        #expect(leases.heard(from: "g1") == false)
        #expect(leases.beginClosing("g1") == false)
    }

    @Test("a gateway that is found has as long as one that spoke, and one that spoke is not set back")
    func noticed() {
        let leases = GatewayLeases()
        leases.noticed("g1")
        for _ in 1..<GatewayLeases.maxSilentTurns { #expect(leases.countTurn().isEmpty) }
        leases.noticed("g1")
        #expect(leases.countTurn() == ["g1"])
    }

    @Test("the dead are forgotten in the end")
    func forgotten() {
        let leases = GatewayLeases()
        _ = leases.heard(from: "g1")
        for _ in 0..<GatewayLeases.maxSilentTurns { _ = leases.countTurn() }
        #expect(leases.beginClosing("g1"))
        for _ in 0..<GatewayLeases.maxRememberedTurns { _ = leases.countTurn() }
        #expect(leases.heard(from: "g1") == false)
    }

    @Test("what a dead gateway had open is closed, and others' is not")
    func death() async throws {
        try await ElementsWorld.serving { world in
            let (alice, bob) = (ElementsWorld.alice, ElementsWorld.bob)
            _ = try await world.presence(of: bob, on: "dead", isOpen: true)
            _ = try await world.presence(of: alice, on: "alive", isOpen: true)
            await takeTurns(GatewayLeases.maxSilentTurns - 1, of: world)
            try beat(of: "alive", on: world)
            _ = try await world.create()
            #expect(try await world.badge(of: bob) == 0, "its lease has not ended")
            await takeTurns(1, of: world)
            _ = try await world.create()
            _ = try await world.create(by: bob)
            #expect(try await world.badge(of: bob) == 1)
            #expect(try await world.badge(of: alice) == 0)
        }
    }

    @Test("what a gateway left open before the service started is closed if it stays silent")
    func earlierGateway() async throws {
        try await ElementsWorld.serving { world in
            let bob = ElementsWorld.bob
            let left = [OpenRoom(roomID: ElementsWorld.room, userID: bob)]
            _ = try await world.database.write { [clock = world.clock] in
                try OpenRoomsStore($0).open(left, on: "earlier", at: clock)
            }
            #expect(await world.service.watch.findEarlierGateways())
            await takeTurns(GatewayLeases.maxSilentTurns - 1, of: world)
            _ = try await world.create()
            #expect(try await world.badge(of: bob) == 0)
            await takeTurns(1, of: world)
            _ = try await world.create()
            #expect(try await world.badge(of: bob) == 1)
        }
    }

    @Test("a gateway that is back from the dead is asked what is open, once")
    func back() async throws {
        try await ElementsWorld.serving { world in
            let asked = Mutex(0)
            try world.bus.subscribe(Subject.discover) { _ in asked.withLock { $0 += 1 } }
            try beat(of: "g1", on: world)
            try world.bus.publish(Subject.gatewayAlive, JSONValue(1))
            await takeTurns(GatewayLeases.maxSilentTurns, of: world)
            #expect(asked.withLock { $0 } == 0)
            try beat(of: "g1", on: world)
            try beat(of: "g1", on: world)
            #expect(asked.withLock { $0 } == 1)
        }
    }

    @Test("one that is back from the dead with a request is asked what is open, too", arguments: [true, false])
    func backWithRequest(isOpen: Bool) async throws {
        try await ElementsWorld.serving { world in
            let asked = Mutex(0)
            try world.bus.subscribe(Subject.discover) { _ in asked.withLock { $0 += 1 } }
            _ = try await world.presence(of: ElementsWorld.bob, on: "g1", isOpen: true)
            await takeTurns(GatewayLeases.maxSilentTurns, of: world)
            #expect(asked.withLock { $0 } == 0)
            _ = try await world.presence(of: ElementsWorld.alice, on: "g1", isOpen: isOpen)
            try beat(of: "g1", on: world)
            #expect(asked.withLock { $0 } == 1)
        }
    }
}
