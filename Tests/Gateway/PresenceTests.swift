import Bus
import Contracts
import JSON
import MessageBus
import Reactor
import ServiceKit
import Testing

@testable import Gateway

@Suite("Presence over two gateways")
struct PresenceTests {
    private typealias Place = Presence.Place

    /// A gateway's presence, and what its clients are told.
    private struct Side: Sendable {
        let presence: Presence
        let told = Arrivals<String>()

        init(_ id: String, _ bus: any MessageBus, _ group: EventLoopGroup) {
            let told = told
            presence = Presence(gatewayID: id, bus: bus, on: group.next(), log: .silent) { change in
                let place = "\(change.place.userID)@\(change.place.roomID)"
                told.add("\(change.kind.rawValue) \(place) \(change.isOn ? "on" : "off")")
            }
        }

        func hears(_ expected: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws {
            #expect(try await told.next(expected.count) == expected, sourceLocation: sourceLocation)
        }
    }

    private let bus = InProcessBus()
    private let ada = Place(roomID: "r", userID: "ada")
    private let bob = Place(roomID: "r", userID: "bob")

    private func run(_ test: (_ a: Side, _ b: Side) async throws -> Void) async throws {
        let group = try EventLoopGroup(loopCount: 2)
        let (a, b) = (Side("a", bus, group), Side("b", bus, group))
        try a.presence.start()
        try b.presence.start()
        do {
            try await test(a, b)
        } catch {
            Issue.record("\(error)")
        }
        for side in [a, b] { await side.presence.stop() }
        await Task.detached { group.shutdown() }.value
    }

    @Test("who comes and goes on one gateway does so on both")
    func joinAndLeave() async throws {
        try await run { a, b in
            await a.presence.join(ada, socketID: "1")
            for side in [a, b] {
                try await side.hears("presence ada@r on")
                #expect(await side.presence.present(in: ["r", "s"]) == ["r": ["ada"]])
            }
            await a.presence.leave(ada, socketID: "1")
            for side in [a, b] {
                try await side.hears("presence ada@r off")
                #expect(await side.presence.present(in: ["r"]).isEmpty)
            }
        }
    }

    @Test("a person is there as long as any of their sockets is, on any gateway")
    func severalSockets() async throws {
        try await run { a, b in
            await a.presence.join(ada, socketID: "1")
            await a.presence.join(ada, socketID: "2")
            try await b.hears("presence ada@r on")
            await b.presence.join(ada, socketID: "3")
            await a.presence.leave(ada, socketID: "1")
            await a.presence.disconnect(socketID: "2")
            await b.presence.disconnect(socketID: "3")
            await a.presence.join(bob, socketID: "4")
            try await a.hears("presence ada@r on", "presence ada@r off", "presence bob@r on")
            try await b.hears("presence ada@r off", "presence bob@r on")
        }
    }

    @Test("leaving a room ends typing there, once, and first")
    func leavingEndsTyping() async throws {
        try await run { a, b in
            await a.presence.join(ada, socketID: "1")
            for _ in 1...3 { await a.presence.setTyping(true, ada, socketID: "1") }
            await a.presence.leave(ada, socketID: "1")
            await a.presence.setTyping(false, ada, socketID: "1")
            await a.presence.endTyping(ada)
            await a.presence.join(bob, socketID: "1")
            for side in [a, b] {
                try await side.hears(
                    "presence ada@r on", "typing ada@r on", "typing ada@r off", "presence ada@r off",
                    "presence bob@r on")
            }
        }
    }

    @Test("a person types while any of their sockets does; without a renewal it ends by itself, once")
    func typingTimesOut() async throws {
        try await run { a, b in
            await a.presence.setTyping(true, ada, socketID: "1")
            await a.presence.setTyping(true, ada, socketID: "2")
            await a.presence.setTyping(false, ada, socketID: "1")
            for side in [a, b] { try await side.hears("typing ada@r on", "typing ada@r off") }
            await a.presence.setTyping(true, bob, socketID: "1")
            for side in [a, b] { try await side.hears("typing bob@r on") }
        }
    }

    @Test("what was typed is sent: typing ends for all of the person's sockets")
    func sendingEndsTyping() async throws {
        try await run { a, b in
            for socket in ["1", "2"] { await a.presence.setTyping(true, ada, socketID: socket) }
            await a.presence.endTyping(ada)
            await a.presence.setTyping(true, bob, socketID: "3")
            for side in [a, b] {
                try await side.hears("typing ada@r on", "typing ada@r off", "typing bob@r on")
            }
        }
    }

    @Test("a gateway that falls silent is forgotten, with all it held")
    func silence() async throws {
        #expect(Presence.lease + Presence.heartbeat < .seconds(3))
        try await run { a, b in
            await b.presence.join(ada, socketID: "1")
            await b.presence.setTyping(true, bob, socketID: "2")
            try await a.hears("presence ada@r on", "typing bob@r on")
            await b.presence.stop()
            let forgotten = Set(try await a.told.next(2))
            #expect(forgotten == ["presence ada@r off", "typing bob@r off"])
        }
    }

    @Test("a gateway that starts late learns who is there")
    func lateStart() async throws {
        try await run { a, _ in
            await a.presence.join(ada, socketID: "1")
            await a.presence.setTyping(true, bob, socketID: "2")
            let group = try EventLoopGroup(loopCount: 1)
            let late = Side("late", bus, group)
            try late.presence.start()
            #expect(Set(try await late.told.next(2)) == ["presence ada@r on", "typing bob@r on"])
            await late.presence.stop()
            await Task.detached { group.shutdown() }.value
        }
    }

    @Test("of two gateways that change at once, clients hear what is so in the end")
    func crossing() async throws {
        try await run { a, b in
            let asked = try slowService()
            a.presence.learn(asked.manifest)
            async let joined: Void = a.presence.join(ada, socketID: "1")
            try await asked.answer("open ada@r")
            await joined
            async let left: Void = a.presence.leave(ada, socketID: "1")
            let leaving = try await asked.requests.next()
            // While the service is told that she left here, she comes in over there.
            await b.presence.join(ada, socketID: "2")
            await a.presence.setTyping(true, bob, socketID: "3")
            leaving.reply(Reply().json)
            await left
            await b.presence.setTyping(true, ada, socketID: "2")
            try await a.hears("presence ada@r on", "typing bob@r on", "typing ada@r on")
        }
    }

    @Test("who leaves while services are being told of their coming is gone in the end")
    func leavingEarly() async throws {
        try await run { a, b in
            let asked = try slowService()
            a.presence.learn(asked.manifest)
            async let joined: Void = a.presence.join(ada, socketID: "1")
            let coming = try await asked.requests.next()
            await a.presence.disconnect(socketID: "1")
            coming.reply(Reply().json)
            try await asked.answer("closed ada@r")
            await joined
            try await b.hears("presence ada@r on", "presence ada@r off")
        }
    }

    @Test("a service that could not be told is told what is so once it announces itself")
    func toldLater() async throws {
        try await run { a, _ in
            let asked = try slowService()
            a.presence.learn(asked.manifest)
            for place in [ada, bob] {
                async let joined: Void = a.presence.join(place, socketID: place.userID)
                try await asked.answer("open \(place.userID)@r")
                await joined
            }
            asked.subscription.cancel()
            await a.presence.leave(bob, socketID: "bob")
            let back = try slowService()
            a.presence.learn(back.manifest)
            let told = [try await back.answer(), try await back.answer()]
            #expect(Set(told) == ["open ada@r", "closed bob@r"])
        }
    }

    @Test("a service that was only too slow is told again, without its asking")
    func toldAgain() async throws {
        try await run { a, _ in
            let asked = try slowService()
            a.presence.learn(asked.manifest)
            async let joined: Void = a.presence.join(ada, socketID: "1")
            let first = try await asked.requests.next()
            await joined
            try await asked.answer("open ada@r")
            first.reply(Reply().json)
        }
    }

    @Test("over a broker, too, each hears of the other")
    func broker() async throws {
        let server = try await BusServer.start(host: "127.0.0.1", port: 0)
        let group = try EventLoopGroup(loopCount: 2)
        var sides: [Side] = []
        var buses: [TCPBus] = []
        for (id, loop) in zip(["a", "b"], group.loops) {
            let bus = try await TCPBus.connect(host: "127.0.0.1", port: server.port, name: id, token: nil, on: loop)
            let side = Side(id, bus, group)
            try side.presence.start()
            try await bus.flush()
            sides.append(side)
            buses.append(bus)
        }
        await sides[0].presence.join(ada, socketID: "1")
        await sides[0].presence.setTyping(true, ada, socketID: "1")
        for side in sides { try await side.hears("presence ada@r on", "typing ada@r on") }
        await sides[1].presence.join(ada, socketID: "2")
        await sides[1].presence.setTyping(true, bob, socketID: "2")
        for side in sides { try await side.hears("typing bob@r on") }
        await sides[0].presence.disconnect(socketID: "1")
        for side in sides { try await side.hears("typing ada@r off") }
        await sides[1].presence.disconnect(socketID: "2")
        for side in sides { try await side.hears("typing bob@r off", "presence ada@r off") }
        for side in sides { await side.presence.stop() }
        for bus in buses { await bus.close() }
        await server.drain(timeout: .zero)
        await Task.detached { group.shutdown() }.value
    }

    // MARK: A service that is told who has a room open

    private struct SlowService {
        let manifest = Manifest(service: "slow", presenceSubject: "slow.presence")
        let requests: Arrivals<BusRequest>
        let subscription: BusSubscription

        /// Answers the next request, and says what it told.
        @discardableResult
        func answer(_ expected: String? = nil) async throws -> String {
            let request = try await requests.next()
            let places = request.data["rooms"]?.array?.map {
                "\($0["userId"]?.string ?? "")@\($0["roomId"]?.string ?? "")"
            }
            let told =
                (request.data["isOpen"]?.bool == true ? "open " : "closed ") + (places ?? []).joined(separator: " ")
            request.reply(Reply().json)
            if let expected { #expect(told == expected) }
            return told
        }
    }

    private func slowService() throws -> SlowService {
        let requests = Arrivals<BusRequest>()
        let subscription = try bus.respond(to: "slow.presence", queue: "slow") { requests.add($0) }
        return SlowService(requests: requests, subscription: subscription)
    }
}
