import GatewayTesting
import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorTestSupport
import Testing

@testable import ParlorGatewayPresence

@Suite("Presence over two gateways")
struct PresenceTests {
    private let bus = InProcessBus()
    private let ada = RoomMember(roomID: "r", userID: "ada")
    private let bob = RoomMember(roomID: "r", userID: "bob")

    private func run(
        serviceTimeout: Duration = .seconds(300), _ test: (_ a: PresenceSide, _ b: PresenceSide) async throws -> Void
    ) async throws {
        try await PresenceSide.run(on: bus, serviceTimeout: serviceTimeout, test)
    }

    @Test("a person who joins or leaves on one gateway does so on both")
    func joinAndLeave() async throws {
        try await run { a, b in
            await a.presence.join(ada, socketID: "1")
            for side in [a, b] {
                try await side.receives("presence ada@r on")
                #expect(await side.presence.present(in: ["r", "s"]) == ["r": ["ada"]])
            }
            await a.presence.leave(ada, socketID: "1")
            for side in [a, b] {
                try await side.receives("presence ada@r off")
                #expect(await side.presence.present(in: ["r"]).isEmpty)
            }
        }
    }

    @Test("a person is present as long as any of their sockets is, on any gateway")
    func severalSockets() async throws {
        try await run { a, b in
            await a.presence.join(ada, socketID: "1")
            await a.presence.join(ada, socketID: "2")
            try await b.receives("presence ada@r on")
            await b.presence.join(ada, socketID: "3")
            await a.presence.leave(ada, socketID: "1")
            await a.presence.disconnect(socketID: "2")
            await b.presence.disconnect(socketID: "3")
            try await a.receives("presence ada@r on", "presence ada@r off")
            try await b.receives("presence ada@r off")
            await a.presence.join(bob, socketID: "4")
            for side in [a, b] { try await side.receives("presence bob@r on") }
        }
    }

    @Test("leaving a room ends typing there, once, and before presence")
    func leavingEndsTyping() async throws {
        try await run { a, b in
            await a.presence.join(ada, socketID: "1")
            for _ in 1...3 { await a.presence.setTyping(true, ada, socketID: "1") }
            await a.presence.leave(ada, socketID: "1")
            await a.presence.setTyping(false, ada, socketID: "1")
            await a.presence.endTyping(ada)
            await a.presence.join(bob, socketID: "1")
            for side in [a, b] {
                try await side.receives(
                    "presence ada@r on", "typing ada@r on", "typing ada@r off", "presence ada@r off",
                    "presence bob@r on")
            }
        }
    }

    @Test("a person types while any of their sockets does")
    func typingSockets() async throws {
        try await run { a, b in
            for socket in ["1", "2"] { await a.presence.setTyping(true, ada, socketID: socket) }
            await a.presence.setTyping(false, ada, socketID: "1")
            await a.presence.setTyping(true, bob, socketID: "1")
            await a.presence.setTyping(false, ada, socketID: "2")
            for side in [a, b] { try await side.receives("typing ada@r on", "typing bob@r on", "typing ada@r off") }
        }
    }

    @Test("typing that is not renewed ends by itself, once")
    func typingTimesOut() async throws {
        try await PresenceSide.run(on: bus, typingTimeout: .milliseconds(50)) { a, b in
            await a.presence.setTyping(true, ada, socketID: "1")
            for side in [a, b] { try await side.receives("typing ada@r on", "typing ada@r off") }
            await a.presence.setTyping(true, bob, socketID: "1")
            for side in [a, b] { try await side.receives("typing bob@r on") }
        }
    }

    @Test("sending a message ends typing for all of the person's sockets")
    func sendingEndsTyping() async throws {
        try await run { a, b in
            for socket in ["1", "2"] { await a.presence.setTyping(true, ada, socketID: socket) }
            await a.presence.endTyping(ada)
            await a.presence.setTyping(true, bob, socketID: "3")
            for side in [a, b] {
                try await side.receives("typing ada@r on", "typing ada@r off", "typing bob@r on")
            }
        }
    }

    @Test("after changes on two gateways at once, clients end up with the current state")
    func crossing() async throws {
        try await run { a, b in
            let asked = try slowService()
            a.presence.learn(asked.manifest)
            async let joined: Void = a.presence.join(ada, socketID: "1")
            try await asked.answer("open ada@r")
            await joined
            async let left: Void = a.presence.leave(ada, socketID: "1")
            let leaving = try await asked.requests.next()
            // While the service is notified of her leaving here, she joins over there.
            await b.presence.join(ada, socketID: "2")
            await a.presence.setTyping(true, bob, socketID: "3")
            leaving.reply(Reply().json)
            await left
            await b.presence.setTyping(true, ada, socketID: "2")
            try await a.receives("presence ada@r on", "typing bob@r on", "typing ada@r on")
        }
    }

    @Test("services are notified before clients and other gateways")
    func servicesFirst() async throws {
        try await run { a, b in
            let asked = try slowService()
            a.presence.learn(asked.manifest)
            async let joined: Void = a.presence.join(ada, socketID: "1")
            let request = try await asked.requests.next()
            await a.presence.setTyping(true, bob, socketID: "2")
            for side in [a, b] { try await side.receives("typing bob@r on") }
            request.reply(Reply().json)
            await joined
            for side in [a, b] { try await side.receives("presence ada@r on") }
        }
    }

    @Test("a person who leaves while services are still being notified of the join ends up absent")
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
            await a.presence.join(bob, socketID: "2", seesAll: false)
            try await b.receives("presence bob@r on")
        }
    }

    @Test("presence of another gateway that comes and goes while services are notified leaves nobody present or absent")
    func otherGatewayMeanwhile() async throws {
        try await run { a, b in
            let asked = try slowService()
            a.presence.learn(asked.manifest)
            async let joined: Void = a.presence.join(ada, socketID: "1")
            let coming = try await asked.requests.next()
            await b.presence.join(ada, socketID: "2", seesAll: false)
            try await a.receives("presence ada@r on")
            await b.presence.disconnect(socketID: "2")
            await a.presence.disconnect(socketID: "1")
            coming.reply(Reply().json)
            try await asked.answer("closed ada@r")
            await joined
            try await a.receives("presence ada@r off")
            #expect(await a.presence.present(in: ["r"]).isEmpty)
        }
    }

    @Test("a socket that sees nothing is present, and services hear only of those that see all")
    func presentWithoutSeeing() async throws {
        try await run { a, b in
            let asked = try slowService()
            a.presence.learn(asked.manifest)
            await a.presence.join(ada, socketID: "chat", seesAll: false)
            for side in [a, b] { try await side.receives("presence ada@r on") }
            // Another of her sockets sees all, then the first one does too, and then neither.
            async let opened: Void = a.presence.join(ada, socketID: "board")
            try await asked.answer("open ada@r")
            await opened
            await a.presence.join(ada, socketID: "chat")
            await a.presence.leave(ada, socketID: "board")
            async let closed: Void = a.presence.join(ada, socketID: "chat", seesAll: false)
            try await asked.answer("closed ada@r")
            await closed
            await a.presence.join(bob, socketID: "2", seesAll: false)
            await a.presence.disconnect(socketID: "chat")
            for side in [a, b] { try await side.receives("presence bob@r on", "presence ada@r off") }
        }
    }

    @Test("a service that could not be reached gets the current state when it announces itself")
    func toldLater() async throws {
        try await run { a, _ in
            let asked = try slowService()
            a.presence.learn(asked.manifest)
            for member in [ada, bob] {
                async let joined: Void = a.presence.join(member, socketID: member.userID)
                try await asked.answer("open \(member.userID)@r")
                await joined
            }
            asked.subscription.cancel()
            await a.presence.leave(bob, socketID: "bob")
            let back = try slowService()
            a.presence.learn(back.manifest)
            let delivered = [try await back.answer(), try await back.answer()]
            #expect(Set(delivered) == ["open ada@r", "closed bob@r"])
        }
    }

    @Test("a service that was only too slow is notified again, without its asking")
    func toldAgain() async throws {
        try await run(serviceTimeout: .milliseconds(50)) { a, _ in
            let asked = try slowService()
            a.presence.learn(asked.manifest)
            async let joined: Void = a.presence.join(ada, socketID: "1")
            let first = try await asked.requests.next()
            await joined
            try await asked.answer("open ada@r")
            first.reply(Reply().json)
        }
    }

    @Test("a person who leaves while a service is notified again ends up absent")
    func leavingWhileToldAgain() async throws {
        try await run { a, _ in
            await a.presence.join(ada, socketID: "1")
            let asked = try slowService()
            a.presence.learn(asked.manifest)
            let again = try await asked.requests.next()
            async let left: Void = a.presence.leave(ada, socketID: "1")
            try await asked.answer("closed ada@r")
            await left
            // Of two instances, the one that was asked first may be the last to do it.
            again.reply(Reply().json)
            try await asked.answer("closed ada@r")
        }
    }

    // MARK: A service that is notified of open rooms

    private struct SlowService {
        let manifest = Manifest(service: "slow", presenceSubject: "slow.presence")
        let requests: Arrivals<BusRequest>
        let subscription: BusSubscription

        /// Answers the next request, and returns its content.
        @discardableResult
        func answer(_ expected: String? = nil) async throws -> String {
            let request = try await requests.next()
            let members = request.data["rooms"]?.array?.map {
                "\($0["userId"]?.string ?? "")@\($0["roomId"]?.string ?? "")"
            }
            let delivered =
                (request.data["isOpen"]?.bool == true ? "open " : "closed ") + (members ?? []).joined(separator: " ")
            request.reply(Reply().json)
            if let expected { #expect(delivered == expected) }
            return delivered
        }
    }

    private func slowService() throws -> SlowService {
        let requests = Arrivals<BusRequest>()
        let subscription = try bus.respond(to: "slow.presence", queue: "slow") { requests.add($0) }
        return SlowService(requests: requests, subscription: subscription)
    }
}
