import GatewayTesting
import Glibc
import ParlorBus
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorTestSupport
import Synchronization
import Testing

@testable import ParlorGatewayPresence

@Suite("Exchanging presence between gateways", .timeLimit(.minutes(1)))
struct PresenceExchangeTests {
    private let ada = RoomMember(roomID: "r", userID: "ada")
    private let bob = RoomMember(roomID: "r", userID: "bob")

    private func members(_ range: Range<Int>) -> [RoomMember] {
        range.map {
            RoomMember(roomID: "0190e1f0-5b7a-7c3e-8f00-00000000000\($0)", userID: "0190e1f0-5b7a-7c3e-8f01-ada")
        }
    }

    private func names(_ members: [RoomMember]) -> Set<String> { Set(members.map { "\($0.userID)@\($0.roomID)" }) }

    /// Reads clients' events until exactly these places are open.
    private func collect(_ side: PresenceSide, after first: [String] = [], until expected: Set<String>) async throws {
        var open: Set<String> = []
        var waiting = first[...]
        while open != expected {
            let change = if let next = waiting.popFirst() { next } else { try await side.delivered.next() }
            let words = change.split(separator: " ").map(String.init)
            let isNews = words[2] == "on" ? open.insert(words[1]).inserted : open.remove(words[1]) != nil
            #expect(isNews, "clients are sent a state that they have: \(change)")
        }
    }

    @Test("a gateway that falls silent is forgotten, with all that it owned")
    func silence() async throws {
        try await PresenceSide.run(on: InProcessBus()) { a, b in
            await b.presence.join(ada, socketID: "1")
            await b.presence.setTyping(true, bob, socketID: "2")
            try await a.receives("presence ada@r on", "typing bob@r on")
            await b.presence.stop()
            let forgotten = Set(try await a.delivered.next(2))
            #expect(forgotten == ["presence ada@r off", "typing bob@r off"])
        }
    }

    @Test("a gateway that starts late learns who is present")
    func lateStart() async throws {
        let bus = InProcessBus()
        try await PresenceSide.run(on: bus) { a, _ in
            await a.presence.join(ada, socketID: "1")
            await a.presence.setTyping(true, bob, socketID: "2")
            try await PresenceSide.runLate(on: bus) { late in
                let known = Set(try await late.delivered.next(2))
                #expect(known == ["presence ada@r on", "typing bob@r on"])
            }
        }
    }

    @Test("gateways that were all held up do not take each other for dead")
    func heldUp() async throws {
        let group = try EventLoopGroup(loopCount: 2)
        let bus = InProcessBus()
        let sides = zip(["a", "b"], group.loops).map { PresenceSide($0, bus, on: $1) }
        for side in sides { try side.presence.start() }
        await sides[0].presence.join(ada, socketID: "1")
        for side in sides { try await side.receives("presence ada@r on") }
        await sides[1].presence.join(bob, socketID: "2")
        for side in sides { try await side.receives("presence bob@r on") }
        await withTaskGroup { tasks in
            for loop in group.loops {
                tasks.addTask {
                    await withCheckedContinuation { continuation in
                        // In a timer's turn, as the next one then sees at once how late it is.
                        loop.execute {
                            loop.schedule(after: .zero) {
                                usleep(3_100_000)
                                continuation.resume()
                            }
                        }
                    }
                }
            }
        }
        // Each has received messages of the other since, and sent its clients nothing.
        for (side, member) in zip(sides, [bob, ada]) { await side.presence.setTyping(true, member, socketID: "3") }
        for side in sides {
            let delivered = Set(try await side.delivered.next(2))
            #expect(delivered == ["typing ada@r on", "typing bob@r on"])
        }
        for side in sides { await side.presence.stop() }
        await finish(group)
    }

    @Test("while the bus is down, typing elsewhere ends and presence elsewhere stays")
    func busDown() async throws {
        let bus = FakeBus()
        let group = try EventLoopGroup(loopCount: 2)
        let side = PresenceSide("a", bus, on: group.loops[0], typingTimeout: .milliseconds(50))
        let other = PresenceSide("b", bus, on: group.loops[1])
        for side in [side, other] { try side.presence.start() }
        await other.presence.join(ada, socketID: "1")
        await other.presence.setTyping(true, bob, socketID: "2")
        try await side.receives("presence ada@r on", "typing bob@r on")
        bus.setConnected(false)
        try await side.receives("typing bob@r off")
        bus.setConnected(true)
        try await side.receives("typing bob@r on")
        await other.presence.leave(ada, socketID: "1")
        try await side.receives("presence ada@r off")
        for side in [side, other] { await side.presence.stop() }
        await finish(group)
    }

    @Test("lost messages are made good: nobody types or stays present for ever", arguments: ["typing", "presence"])
    func lostChange(kind: String) async throws {
        let bus = FakeBus()
        try await PresenceSide.run(on: bus) { a, b in
            await a.presence.join(ada, socketID: "1")
            await a.presence.setTyping(true, ada, socketID: "1")
            for side in [a, b] { try await side.receives("presence ada@r on", "typing ada@r on") }
            bus.lose { $0.subject == "gateways.\(kind)" && $0.data["isOn"]?.bool == false }
            await a.presence.disconnect(socketID: "1")
            let ended = Set(try await b.delivered.next(2))
            #expect(ended == ["typing ada@r off", "presence ada@r off"])
        }
    }

    @Test("a lost part of a snapshot is made good", arguments: [0, 1, 2])
    func lostPart(part: Int) async throws {
        let bus = FakeBus()
        let there = members(0..<1400)
        try await PresenceSide.run(on: bus) { a, _ in
            for member in there { await a.presence.join(member, socketID: "1") }
            let isLost = Mutex(false)
            bus.lose { message in
                guard message.subject == "gateways.snapshot", message.data["part"]?.int == part,
                    message.data["gateway"]?.string == "a"
                else { return false }
                return isLost.withLock { isLost in
                    defer { isLost = true }
                    return !isLost
                }
            }
            try await PresenceSide.runLate(on: bus) { late in
                try await collect(late, until: names(there))
                #expect(isLost.withLock { $0 })
            }
        }
    }

    @Test("a person who joins between two snapshots is not in the first and stays with the second")
    func betweenSnapshots() async throws {
        let bus = FakeBus()
        let there = members(0..<1400)
        try await PresenceSide.run(on: bus) { a, b in
            for member in there { await a.presence.join(member, socketID: "1") }
            try await collect(b, until: names(there))
            let snapshots = Arrivals<Task<Void, Never>>()
            bus.lose { message in
                if message.subject == "gateways.snapshot", message.data["isLast"]?.bool == true {
                    snapshots.add(Task { await a.presence.join(ada, socketID: "1") })
                }
                return false
            }
            let hello = JSONWriter.object {
                $0.member("gateway", "c")
                $0.member("to", "a")
            }
            for _ in 1...2 { try bus.publish("gateways.hello", hello) }
            for _ in 1...2 { await (try await snapshots.next()).value }
            await a.presence.join(bob, socketID: "1")
            try await b.receives("presence ada@r on", "presence bob@r on")
        }
    }

    @Test("30,000 open rooms and the changes meanwhile are exchanged over a broker")
    func manyRooms() async throws {
        let server = try await BusServer.start(host: "127.0.0.1", port: 0)
        let group = try EventLoopGroup(loopCount: 2)
        let buses = [
            try await TCPBus.connect(host: "127.0.0.1", port: server.port, name: "a", token: nil, on: group.loops[0]),
            try await TCPBus.connect(host: "127.0.0.1", port: server.port, name: "b", token: nil, on: group.loops[1]),
        ]
        let sides = zip(["a", "b"], zip(buses, group.loops)).map { PresenceSide($0, $1.0, on: $1.1) }
        let all = members(0..<31_000)
        for member in all[..<30_000] { await sides[0].presence.join(member, socketID: "1") }
        try sides[0].presence.start()
        try sides[1].presence.start()
        let received = try await sides[1].delivered.next(1000)
        for member in all[..<1000] { await sides[0].presence.leave(member, socketID: "1") }
        for member in all[30_000...] { await sides[0].presence.join(member, socketID: "1") }
        try await collect(sides[1], after: received, until: names(Array(all[1000...])))
        for side in sides { await side.presence.stop() }
        for bus in buses { await bus.close() }
        await server.drain(timeout: .zero)
        await finish(group)
    }

    @Test("gateways see each other over a broker, too")
    func broker() async throws {
        let server = try await BusServer.start(host: "127.0.0.1", port: 0)
        let group = try EventLoopGroup(loopCount: 2)
        var sides: [PresenceSide] = []
        var buses: [TCPBus] = []
        for (id, loop) in zip(["a", "b"], group.loops) {
            let bus = try await TCPBus.connect(host: "127.0.0.1", port: server.port, name: id, token: nil, on: loop)
            let side = PresenceSide(id, bus, on: loop)
            try side.presence.start()
            try await bus.flush()
            sides.append(side)
            buses.append(bus)
        }
        await sides[0].presence.join(ada, socketID: "1")
        await sides[0].presence.setTyping(true, ada, socketID: "1")
        for side in sides { try await side.receives("presence ada@r on", "typing ada@r on") }
        await sides[1].presence.join(ada, socketID: "2")
        await sides[1].presence.setTyping(true, bob, socketID: "2")
        for side in sides { try await side.receives("typing bob@r on") }
        await sides[0].presence.disconnect(socketID: "1")
        for side in sides { try await side.receives("typing ada@r off") }
        await sides[1].presence.disconnect(socketID: "2")
        for side in sides { try await side.receives("typing bob@r off", "presence ada@r off") }
        for side in sides { await side.presence.stop() }
        for bus in buses { await bus.close() }
        await server.drain(timeout: .zero)
        await finish(group)
    }
}
