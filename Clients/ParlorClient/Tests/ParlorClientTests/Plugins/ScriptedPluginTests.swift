import ClientTestSupport
import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

/// Tests of a whole client with a plugin on a scripted server.
@MainActor
@Suite("ScriptedServer: plugins", .timeLimit(.minutes(1)))
struct ScriptedPluginTests {
    private struct Poll: Codable, Equatable, Sendable {
        var id: String
        var question: String
    }

    private let clock = TestClock()
    private let server: ScriptedServer
    private let (ada, ben, cy): (Person, Person, Person)
    private let roomID: String
    private let device: ScriptedDevice
    private let client: RoomsClient
    private let temporary = TemporaryFolder()
    private var polls: [String] { ["api", "rooms", roomID, "polls"] }

    init() throws {
        server = ScriptedServer(clock: clock)
        (ada, ben, cy) = (server.addPerson("ada"), server.addPerson("ben"), server.addPerson("cy"))
        roomID = try server.makeRoom(by: ada.id, with: ben.id, name: "Plans")
        device = server.makeDevice()
        client = device.makeClient(of: ada, folder: temporary.url)
    }

    private func start() async {
        await client.start()
        await lookUntil { client.connection == .connected && client.rooms.isLoaded }
        await TestClock.settle()
    }

    @Test("a route has the path's parameters, the query and the body, and answers with data and a page")
    func routes() async throws {
        server.addRoute("POST", "/api/rooms/:roomId/polls") { call in
            call.status = 201
            return ["id": .string("p1"), "question": call.fields["question"] ?? .null]
        }
        server.addRoute("GET", "/api/rooms/:roomId/polls") { call in
            call.nextPage = call.fields["cursor"] == nil ? "c" : nil
            return .array([["id": .string("p1"), "question": call.fields["cursor"] ?? .string(call.roomID)]])
        }
        let body: JSON = ["question": .string("Lunch?")]
        #expect(try await client.api.call("POST", polls, body: body) == Poll(id: "p1", question: "Lunch?"))
        let first = try await client.api.callPage(polls, of: Poll.self)
        #expect(first == Page(items: [Poll(id: "p1", question: roomID)], next: "c"))
        let last = try await client.api.callPage(polls, query: [("cursor", first.next)], of: Poll.self)
        #expect(last == Page(items: [Poll(id: "p1", question: "c")]))
    }

    @Test("the last page of a list has a page whose next is null, and an answer that is no list has no page")
    func lastPage() async throws {
        server.addRoute("GET", "/polls") { call in
            call.nextPage = nil
            return .array([])
        }
        server.addRoute("GET", "/polls/open") { _ in .array([]) }
        func answer(_ path: String) async throws -> JSON {
            let headers = ["Authorization": "Bearer \(try server.makeSession(of: ada).token)"]
            let response = try await device.send(HTTPRequest("GET", path, headers: headers))
            return try JSONDecoder().decode(JSON.self, from: response.body)
        }
        #expect(try await answer("/polls") == ["data": .array([]), "page": ["next": .null]])
        #expect(try await answer("/polls/open") == ["data": .array([])])
    }

    @Test("a plugin's route may end like a login, and needs a token as others do")
    func pathLikeLogin() async throws {
        server.addRoute("POST", "/x/auth/login") { call in .string(call.personID) }
        #expect(try await client.api.call("POST", ["x", "auth", "login"]) == .string(ada.id))
        #expect(try await device.send(HTTPRequest("POST", "/x/auth/login")).status == 401)
        let failure = await #expect(throws: ClientFailure.self) {
            try await client.api.call("POST", ["api", "auth", "login", "x"])
        }
        #expect(failure?.code == "route_not_found")
    }

    @Test("refusals: the handler's own, that of a room of others, of a token, and of an unknown route")
    func refusals() async throws {
        server.addRoute("GET", "/api/rooms/:roomId/polls") { _ in
            throw Refusal(code: "closed", message: "", status: 409)
        }
        server.addRoute("GET", "/dice") { _ in throw CocoaError(.featureUnsupported) }
        func code(_ path: [String]) async -> String? {
            await #expect(throws: ClientFailure.self) { try await client.api.call("GET", path) }?.code
        }
        #expect(await code(polls) == "closed")
        #expect(await code(["dice"]) == "internal_error")
        let foreign = try server.makeRoom(by: ben.id, with: cy.id)
        #expect(await code(["api", "rooms", foreign, "polls"]) == "room_not_found")
        #expect(await code(polls + ["p1"]) == "route_not_found")
        #expect(try await device.send(HTTPRequest("GET", "/dice")).status == 401)
    }

    @Test("a socket event has an ack, and what it emits comes before it, also for who comes back later")
    func socketEvents() async throws {
        server.addSocketEvent("poll:vote") { call in
            let vote: JSON = ["pollId": call.fields["pollId"] ?? .null, "by": .string(call.personID)]
            call.emit("poll:voted", vote, to: .person(call.personID))
            call.setBadge("polls", to: 0, of: call.personID)
            return ["poll": ["id": .string("p1"), "question": .string("Lunch?")]]
        }
        await start()
        var events = client.events().makeAsyncIterator()
        let vote: JSON = ["roomId": .string(roomID), "pollId": .string("p1")]
        let ack = try await client.socket.emit("poll:vote", vote, as: JSON.self)
        #expect(try ack["poll"]?.decoded() == Poll(id: "p1", question: "Lunch?"))
        let voted: JSON = ["roomId": .string(roomID), "pollId": .string("p1"), "by": .string(ada.id)]
        let sent: [RoomEvent] = [
            .unknown(name: "poll:voted", data: voted),
            .badges(roomID: roomID, badges: .init(others: ["polls": 0]), hasUnread: false),
        ]
        for event in sent { #expect(await events.next() == event) }
        let failure = await #expect(throws: ClientFailure.self) {
            try await client.socket.emit("poll:vote", ["roomId": .string("none")])
        }
        #expect(failure?.code == "room_not_found")

        device.setAirplaneMode(true)
        await lookUntil { client.connection != .connected }
        server.emit("poll:opened", ["pollId": .string("p2")], in: roomID)
        server.emit("poll:mine", ["pollId": .string("p2")], in: roomID, to: .person(ben.id))
        device.setAirplaneMode(false)
        await client.enterForeground()
        // The events since the last connect come a second time, before those that were missed.
        for event in sent { #expect(await events.next() == event) }
        let opened: JSON = ["roomId": .string(roomID), "pollId": .string("p2")]
        #expect(await events.next() == .unknown(name: "poll:opened", data: opened))
        await client.stop()
    }

    @Test("a badge is live, a field comes with the next answer, and both are in every Room")
    func fields() async throws {
        let other = try server.makeRoom(by: ben.id, with: ada.id)
        server.setField("pollCount", to: .integer(1), in: roomID)
        await start()
        #expect(client.rooms[roomID]?.extras == ["pollCount": .integer(1)])
        #expect(client.rooms[other]?.extras == ["pollCount": .null])
        server.setBadge("polls", to: 2, in: roomID, of: ada.id)
        server.setBadge("polls", to: 5, in: roomID, of: ben.id)
        await lookUntil { client.rooms[roomID]?.badges["polls"] == 2 }
        #expect(client.rooms[roomID]?.hasUnread == true)
        server.setField("pollCount", to: .integer(3), in: roomID)
        await client.rooms.refresh()
        #expect(client.rooms[roomID]?.extras == ["pollCount": .integer(3)])
        #expect(client.rooms[other]?.badges == .init(others: ["polls": 0]))
        #expect(client.rooms.counts.latest(of: roomID)?.otherBadges == ["polls": 2])
        await client.stop()
    }
}
