import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@Suite("The faults of a ScriptedDevice", .timeLimit(.minutes(1)))
struct ScriptedFaultTests {
    private let clock: TestClock
    private let server: ScriptedServer
    private let ada: Person
    private let bob: Person
    private let roomID: String
    private let phone: ScriptedDevice

    init() throws {
        clock = TestClock()
        server = ScriptedServer(clock: clock)
        ada = server.addPerson("ada")
        bob = server.addPerson("bob")
        roomID = try server.makeRoom(by: ada.id, with: bob.id)
        phone = server.makeDevice()
    }

    private func send(_ text: String, ack: Int, on client: ScriptedClient) async throws {
        let fields: [String: JSON] = ["roomId": .string(roomID), "text": .string(text)]
        try await client.emit("message:send", .object(fields), ack: ack)
    }

    private func seen(_ count: Int, by client: ScriptedClient) async throws -> [JSON?] {
        var ids: [JSON?] = []
        for _ in 0..<count { ids.append(try await client.event().data["messageId"]) }
        return ids
    }

    @Test("airplane mode ends all connections and prevents new ones")
    func airplaneMode() async throws {
        let client = try await ScriptedClient(phone, as: ada, on: server)
        phone.setAirplaneMode(true)
        await #expect(throws: ClientFailure.self) { try await client.connection.receive() }
        await #expect(throws: ClientFailure.self) { try await client.connection.send("3") }
        await #expect(throws: ClientFailure.self) { try await phone.connect(to: URL(filePath: "/")) }
        await #expect(throws: ClientFailure.self) { try await phone.send(HTTPRequest("GET", "/api/users/me")) }
        phone.setAirplaneMode(false)
        _ = try await ScriptedClient(phone, as: ada, on: server)
    }

    @Test("airplane mode ends a waiting receive")
    func wakes() async throws {
        let client = try await ScriptedClient(phone, as: ada, on: server)
        let receiving = Task { [connection = client.connection] in try await connection.receive() }
        await TestClock.settle()
        phone.setAirplaneMode(true)
        await #expect(throws: ClientFailure.self) { try await receiving.value }
    }

    @Test("a cancelled receive ends the connection")
    func cancelling() async throws {
        let client = try await ScriptedClient(phone, as: ada, on: server)
        let receiving = Task { [connection = client.connection] in try await connection.receive() }
        receiving.cancel()
        await #expect(throws: CancellationError.self) { try await receiving.value }
        #expect(phone.socketCount == 0)
    }

    @Test("if an ack is lost, the server has handled the request")
    func lostAck() async throws {
        let client = try await ScriptedClient(phone, as: ada, on: server)
        phone.loseNextAnswer()
        try await send("one", ack: 1, on: client)
        #expect(server.texts(in: roomID) == ["one"])
        await #expect(throws: ClientFailure.self) { try await client.connection.receive() }
    }

    @Test("each lost answer ends its own socket, or keeps it")
    func lostAcks() async throws {
        let client = try await ScriptedClient(phone, as: ada, on: server)
        phone.loseNextAnswer(droppingSocket: false)
        phone.loseNextAnswer()
        try await send("one", ack: 1, on: client)
        #expect(phone.socketCount == 1)
        try await send("two", ack: 2, on: client)
        #expect(phone.socketCount == 0)
        #expect(server.texts(in: roomID) == ["one", "two"])
    }

    @Test("if a request is lost, the server has not handled it")
    func lostRequest() async throws {
        let client = try await ScriptedClient(phone, as: ada, on: server)
        phone.loseNextRequests()
        try await send("one", ack: 1, on: client)
        #expect(server.texts(in: roomID).isEmpty)
        #expect(phone.requests == ["message:send"])
        #expect(phone.socketCount == 0)
    }

    @Test("an ack may arrive before its events, or long after them")
    func acks() async throws {
        let client = try await ScriptedClient(phone, as: ada, on: server)
        phone.sendNextAckFirst()
        try await send("one", ack: 1, on: client)
        #expect(try await client.names(2) == ["ack", "message:new:global"])
        phone.holdAcks()
        try await send("two", ack: 2, on: client)
        try server.post("three", in: roomID, by: bob.id)
        #expect(try await client.names(2) == ["message:new:global", "message:new:global"])
        phone.release()
        #expect(try await client.names(1) == ["ack"])
    }

    @Test("events can be held, reordered and doubled")
    func events() async throws {
        let client = try await ScriptedClient(phone, as: ada, on: server)
        phone.holdEvents(named: ["message:new:global"])
        let first = try server.post("one", in: roomID, by: bob.id)
        let second = try server.post("two", in: roomID, by: bob.id)
        phone.release(.reversed)
        #expect(try await seen(2, by: client) == [.string(second), .string(first)])
        phone.doubleNextEvents()
        let third = try server.post("three", in: roomID, by: bob.id)
        #expect(try await seen(2, by: client) == [.string(third), .string(third)])
    }

    @Test("a socket can end between two packets")
    func drop() async throws {
        let client = try await ScriptedClient(phone, as: ada, on: server)
        phone.dropSocket(afterPackets: 1)
        try await send("one", ack: 1, on: client)
        #expect(server.texts(in: roomID) == ["one"])
        #expect(phone.socketCount == 0)
    }

    @Test("answers are delayed as the test says")
    func slow() async throws {
        phone.delayAnswers(by: .seconds(4))
        let asking = Task { [phone] in try await phone.send(HTTPRequest("GET", "/api/users/me")).status }
        await clock.untilSleeping(1)
        await clock.advance(by: .seconds(4))
        #expect(try await asking.value == 401)
    }

    @Test("chaos is the same for the same seed, and stops")
    func chaos() async throws {
        func run(seed: UInt64) async throws -> [JSON?] {
            let device = server.makeDevice()
            let client = try await ScriptedClient(device, as: ada, on: server)
            var chaos = Chaos.none
            chaos.lateEvents = 0.4
            chaos.doubledEvents = 0.2
            device.start(chaos, seed: seed)
            let ids = try (0..<20).map { try server.post("\($0)", in: roomID, by: bob.id) }
            device.stopChaos()
            var indices: [JSON?] = []
            while indices.count < 20 || Set(indices).count < 20 {
                let id = try await client.event().data["messageId"]
                indices.append(ids.firstIndex { .string($0) == id }.map { .integer($0) })
            }
            return indices
        }
        let first = try await run(seed: 7)
        #expect(try await run(seed: 7) == first)
        #expect(try await run(seed: 8) != first)
        #expect(first != (0..<20).map { .integer($0) })
    }
}
