import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceKit
import ParlorTestSupport
import ParlorWorkers
import Synchronization
import Testing

@testable import ParlorPush

@Suite("Waiting and asking")
struct WaitingTests {
    @Test("a signal without a waiter ends the next wait, and only that")
    func signBefore() async {
        let wakeSignal = AsyncSignal()
        wakeSignal.signal()
        wakeSignal.signal()
        await wakeSignal.wait(atMost: .seconds(3600))
        async let waiting: Void = wakeSignal.wait(atMost: .seconds(3600))
        wakeSignal.signal()
        await waiting
        await wakeSignal.wait(atMost: .milliseconds(1))
    }

    @Test("a wait ends even if its time is over at once")
    func tinyLimits() async {
        await withTaskGroup { group in
            for _ in 0..<2000 { group.addTask { await AsyncSignal().wait(atMost: .zero) } }
        }
    }

    @Test("cancelling ends a wait, before or after it began")
    func cancelling() async {
        let wakeSignal = AsyncSignal()
        let task = Task { await wakeSignal.wait(atMost: .seconds(3600)) }
        task.cancel()
        await task.value
        await wakeSignal.wait(atMost: .milliseconds(1))
    }

    @Test("the gateways' replies are merged; one that does not reply counts as knowing nothing")
    func gateways() async throws {
        let bus = InProcessBus()
        let membership = GatewayMembership(bus)
        let gateways = LiveGateways(bus, membership)
        let group = try EventLoopGroup(loopCount: 1)
        try membership.start(on: group.loops[0])
        let member = OpenRoomsRequest.Member(roomID: "room", userID: "ben")
        for (id, age) in [("g1", 10), ("g2", 20)] {
            try bus.respond(to: Subject.openRooms(of: id), queue: "gateway") { request in
                #expect(OpenRoomsRequest(request.data)?.log == "messaging")
                let sockets = [[SocketEvidence(age: age, confirmed: age)]]
                request.reply(Reply(.ok, OpenRoomsRequest.reply(sockets)).json)
            }
        }
        #expect(await gateways.sockets(at: [member]).isEmpty, "no gateway is known")
        for id in ["g1", "g2", "gone"] {
            try bus.publish(Subject.gatewayAlive, JSONWriter.object { $0.member("gateway", id) })
        }
        let found = await gateways.sockets(at: [member])[member] ?? []
        #expect(found.map(\.age).sorted() == [10, 20])
        membership.stop()
        await finish(group)
    }

    @Test("a gateway that does not answer is not asked for a while")
    func silentGateway() async throws {
        let bus = InProcessBus()
        let membership = GatewayMembership(bus)
        let gateways = LiveGateways(bus, membership, unresponsive: Unavailable(for: .seconds(3600)))
        let asked = Atomic(0)
        try bus.respond(to: Subject.openRooms(of: "g"), queue: "gateway") { request in
            asked.wrappingAdd(1, ordering: .relaxed)
            request.reply(ServiceError.unavailable("A gateway").json)
        }
        for _ in 1...3 {
            membership.renew("g")
            _ = await gateways.sockets(at: [OpenRoomsRequest.Member(roomID: "room", userID: "ben")])
        }
        #expect(asked.load(ordering: .relaxed) == 1)
    }

    private static let member = OpenRoomsRequest.Member(roomID: "room", userID: "ben")

    @Test("after an outage of the bus, or before a gateway is connected again, the next turn asks the gateway")
    func outage() async throws {
        let (away, empty, back) = (InProcessBus(), InProcessBus(), InProcessBus())
        await away.close()
        let membership = GatewayMembership(back)
        membership.renew("g")
        try back.respond(to: Subject.openRooms(of: "g"), queue: "gateway") { request in
            request.reply(Reply(.ok, OpenRoomsRequest.reply([[SocketEvidence(age: 1, confirmed: 1)]])).json)
        }
        let unresponsive = Unavailable(for: .seconds(3600))
        for (bus, count) in [(away, 0), (empty, 0), (back, 1)] {
            let gateways = LiveGateways(bus, membership, unresponsive: unresponsive)
            #expect(await gateways.sockets(at: [Self.member])[Self.member, default: []].count == count)
        }
    }

    @Test("gateways that did not reply are asked again after the bus was down and is up again")
    func reconnected() async throws {
        let bus = FakeBus()
        let membership = GatewayMembership(bus)
        let gateways = LiveGateways(bus, membership, unresponsive: Unavailable(for: .seconds(3600)))
        let listening = gateways.listen()
        try bus.respond(to: Subject.openRooms(of: "g"), queue: "gateway") { request in
            request.reply(ServiceError.unavailable("A gateway").json)
        }
        membership.renew("g")
        for isBack in [false, false, true, false] {
            if isBack { bus.bringUp() }
            _ = await gateways.sockets(at: [Self.member])
        }
        #expect(bus.requested.items.count == 2)
        listening.cancel()
    }
}
