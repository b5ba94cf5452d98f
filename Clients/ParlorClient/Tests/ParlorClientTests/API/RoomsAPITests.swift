import Foundation
import Testing

@testable import ParlorClient

@Suite("RoomsAPI")
struct RoomsAPITests {
    private func api(
        _ steps: [ScriptedHTTP.Step], tokens: ListedTokens = ListedTokens()
    ) -> (RoomsAPI, ScriptedHTTP) {
        let server = ScriptedHTTP(steps)
        return (RoomsAPI(transport: server, tokens: tokens, makeRequestID: { "q1" }), server)
    }

    private func body(_ request: HTTPRequest?) throws -> JSON? {
        try request?.body.map { try JSONDecoder().decode(JSON.self, from: $0) }
    }

    @Test("a request has the token, a request id and, with a body, its content type")
    func headers() async throws {
        let (api, server) = api([
            .answer("GET /api/users/me", #"{"data":{"id":"u1","username":"ada"}}"#),
            .answer("PUT /api/rooms/a%2Fb/name", #"{"data":\#(DecodingTests.room)}"#),
        ])
        #expect(try await api.me().username == "ada")
        #expect(try await api.rename("a/b", to: "Garden").room.id == "r1")
        let requests = await server.requests
        #expect(
            requests[0].headers
                == ["Accept": "application/json", "X-Request-Id": "q1", "Authorization": "Bearer t1"])
        #expect(requests[1].headers["Content-Type"] == "application/json")
        #expect(try body(requests[1]) == ["name": .string("Garden")])
    }

    @Test("a refusal that is not about the token is not repeated, whatever its status")
    func wrongPassword() async throws {
        let (api, server) = api([.refusal("POST /api/auth/password", 401, "invalid_credentials")])
        let failure = await #expect(throws: ClientFailure.self) {
            try await api.call("POST", ["api", "auth", "password"], body: JSON.object([:]))
        }
        guard case .refused(let refusal) = failure else { throw ClientFailure.unreadable("no refusal") }
        #expect(refusal.code == "invalid_credentials")
        #expect(await server.requests.count == 1)
    }

    @Test("every route of rooms")
    func rooms() async throws {
        let room = DecodingTests.room
        let (api, server) = api([
            .answer("GET /api/rooms/my-rooms?sort=content", #"{"data":[\#(room)],"degraded":["elements"]}"#),
            .answer(
                "GET /api/rooms/grouped-by-person", #"{"data":[{"id":"u1","username":"ada","rooms":[\#(room)]}]}"#),
            .answer("GET /api/rooms/r1", #"{"data":\#(room),"degraded":["messaging"]}"#),
            .answer("POST /api/rooms", #"{"data":\#(room)}"#, status: 201),
            .answer(
                "GET /api/users/without-rooms?q=a&limit=5&cursor=c",
                #"{"data":[{"id":"u1","username":"ada"}],"page":{"next":"d"}}"#),
            .answer("GET /api/users/without-rooms", #"{"data":[],"page":{"next":null}}"#),
        ])
        let listing = try await api.myRooms(sortedBy: .content)
        #expect(listing.rooms.map(\.id) == ["r1"] && listing.degraded == ["elements"])
        #expect(try await api.roomsByPerson().map(\.id) == ["u1"])
        let answer = try await api.room("r1")
        #expect(answer.room.id == "r1" && answer.degraded == ["messaging"])
        #expect(try await api.makeRoom(with: "u2", requestID: "x").room.id == "r1")
        #expect(
            try body(await server.requests.last) == ["otherUserId": .string("u2"), "clientRequestId": .string("x")])
        let people = try await api.peopleWithoutRooms(matching: "a", limit: 5, cursor: "c")
        #expect(people == Page(items: [Person(id: "u1", username: "ada")], next: "d"))
        #expect(try await api.peopleWithoutRooms() == Page(items: []))
        #expect(await server.missing.isEmpty)
    }

    @Test("an older server's messages belong to the requested room")
    func olderMessages() async throws {
        let older = #"{"id":"m1","senderId":"u1","content":"Hello","createdAt":"2024-12-17T09:45:00Z"}"#
        let (api, _) = api([
            .answer("GET /api/rooms/r1/messages", #"{"data":[\#(older)]}"#),
            .answer("POST /api/rooms/r1/messages", #"{"data":\#(older)}"#),
        ])
        #expect(try await api.messages(in: "r1").items.map(\.roomID) == ["r1"])
        #expect(try await api.send("Hello", in: "r1").roomID == "r1")
    }

    /// A transport and tokens of an app that throw undocumented errors.
    private struct Careless: HTTPTransport, TokenProvider {
        struct TestFailure: Error {}

        var hasToken = true

        func send(_ request: HTTPRequest) async throws -> HTTPResponse { throw TestFailure() }
        func token() async throws -> String {
            guard hasToken else { throw TestFailure() }
            return "t1"
        }
        func token(replacing refused: String) async throws -> String { throw TestFailure() }
    }

    @Test(
        "a call throws its documented error, whatever an app's own transport or tokens throw", arguments: [true, false])
    func foreignErrors(hasToken: Bool) async {
        let api = RoomsAPI(transport: Careless(), tokens: Careless(hasToken: hasToken))
        await #expect(throws: ClientFailure.offline(because: Careless.TestFailure())) { try await api.me() }
        let accounts = AccountsAPI(transport: Careless())
        await #expect(throws: ClientFailure.offline(because: Careless.TestFailure())) {
            try await accounts.refresh("r")
        }
    }

    @Test("every route of messages")
    func messages() async throws {
        let message = DecodingTests.message
        let (api, server) = api([
            .answer("GET /api/rooms/r1/messages?before=9&limit=50", #"{"data":[\#(message)],"page":{"next":"7"}}"#),
            .answer("GET /api/rooms/r1/messages?after=0", #"{"data":[],"page":{"next":7}}"#),
            .answer("POST /api/rooms/r1/messages", #"{"data":\#(message)}"#, status: 201),
            .answer("DELETE /api/rooms/r1/messages/m1", "", status: 204),
            .answer("POST /api/rooms/r1/messages/read", #"{"data":{"readCount":2}}"#),
            .answer("GET /api/users/u2/messages?before=c", #"{"data":[\#(message)],"page":{"next":null}}"#),
        ])
        let page = try await api.messages(in: "r1", before: 9, limit: 50)
        #expect(page.items.map(\.seq) == [7] && page.next == "7")
        #expect(try await api.messages(in: "r1", after: 0).next == "7")
        #expect(try await api.send("Hello", tempID: "t1", in: "r1").id == "m1")
        #expect(try body(await server.requests.last) == ["text": .string("Hello"), "tempId": .string("t1")])
        try await api.deleteMessage("m1", in: "r1")
        #expect(try await api.markRead(["m1", "m2"], in: "r1") == 2)
        #expect(try body(await server.requests.last) == ["messageIds": .array([.string("m1"), .string("m2")])])
        #expect(try await api.messages(with: "u2", before: "c").next == nil)
        #expect(await server.missing.isEmpty)
    }

    @Test("every route of elements and devices")
    func elements() async throws {
        let element = DecodingTests.element
        let (api, server) = api([
            .answer("GET /api/rooms/r1/elements?limit=2&cursor=c", #"{"data":[\#(element)],"page":{"next":null}}"#),
            .answer("POST /api/rooms/r1/elements", #"{"data":\#(element)}"#, status: 201),
            .answer("PATCH /api/rooms/r1/elements/e1", #"{"data":\#(element)}"#),
            .answer("DELETE /api/rooms/r1/elements/e1", "", status: 204),
            .answer("DELETE /api/rooms/r1/elements", #"{"data":{"deletedCount":4}}"#),
            .answer("POST /api/devices", #"{"data":{}}"#, status: 201),
            .answer("DELETE /api/devices/ab", "", status: 204),
        ])
        #expect(try await api.elements(in: "r1", limit: 2, cursor: "c").items.map(\.id) == ["e1"])
        _ = try await api.makeElement(type: "note", position: .init(x: 1, y: 2), in: "r1")
        let position: JSON = ["x": .integer(1), "y": .integer(2)]
        #expect(try body(await server.requests.last) == ["type": .string("note"), "position": position])
        _ = try await api.update("e1", position: .remove, version: 2, in: "r1")
        #expect(try body(await server.requests.last) == ["position": .null, "version": .integer(2)])
        try await api.deleteElement("e1", in: "r1")
        #expect(try await api.clear("r1") == 4)
        try await api.registerDevice(token: "ab", environment: .sandbox)
        try await api.removeDevice(token: "ab")
        #expect(await server.missing.isEmpty)
    }

    @Test("a refused token is replaced and the call repeated, but only once")
    func replacesToken() async throws {
        let tokens = ListedTokens(replacements: [.success("t2"), .success("t3")])
        let (api, server) = api(
            [
                .refusal("GET /api/users/me", 401, "unauthenticated"),
                .answer("GET /api/users/me", #"{"data":{"id":"u1","username":"ada"}}"#),
                .refusal("GET /api/users/me", 401, "unauthenticated"),
                .refusal("GET /api/users/me", 401, "unauthenticated"),
            ], tokens: tokens)
        #expect(try await api.me().id == "u1")
        #expect(await server.requests.map { $0.headers["Authorization"] } == ["Bearer t1", "Bearer t2"])
        await #expect(throws: ClientFailure.self) { try await api.me() }
        #expect(await tokens.refused == ["t1", "t2"])
    }

    @Test(
        "a refusal says whether a retry may succeed",
        arguments: [(400, false), (404, false), (409, false), (429, true), (500, true), (503, true)])
    func refusals(status: Int, isRetryable: Bool) async {
        let (api, _) = api([
            .refusal("GET /api/rooms/r", status, "some_code", headers: ["retry-after": "3"])
        ])
        await #expect(
            throws: ClientFailure.refused(
                Refusal(
                    code: "some_code", message: "No.", isRetryable: isRetryable, status: status, requestID: "r9",
                    retryAfter: .seconds(3)))
        ) { try await api.room("r") }
    }

    @Test(
        "an answer that is not Parlor's counts as offline",
        arguments: [
            (200, "<html>"), (200, ""), (200, "[]"), (200, "{}"), (302, ""), (400, "<html>"), (401, "<html>"),
            (403, #"{"error":"forbidden"}"#), (404, #"{"error":{"code":404}}"#), (502, "<html>"),
        ])
    func foreign(status: Int, body: String) async {
        let (api, server) = api([
            .answer("GET /api/rooms/r", body, status: status),
            .answer("DELETE /api/rooms/r/messages/m", body, status: status),
        ])
        let failure = ClientFailure.offline("Something other than the server has answered, with status \(status).")
        await #expect(throws: failure) { try await api.room("r") }
        await #expect(throws: failure) { try await api.deleteMessage("m", in: "r") }
        #expect(await server.missing.isEmpty)
    }

    @Test("an answer that breaks the contract is unreadable")
    func unreadable() async {
        let (api, _) = api([.answer("GET /api/rooms/r", #"{"data":{"id":1}}"#)])
        let failure = await #expect(throws: ClientFailure.self) { try await api.room("r") }
        guard case .unreadable = failure else {
            Issue.record("it is \(String(describing: failure))")
            return
        }
    }

    private struct Witness: Decodable, Sendable {
        let isOnMainThread: Bool
        init(from decoder: any Decoder) { isOnMainThread = Thread.isMainThread }
    }

    @MainActor
    @Test("answers are decoded off the main actor")
    func concurrent() async throws {
        let (api, _) = api([.answer("GET /api/x", #"{"data":{}}"#)])
        let witness: Witness = try await api.value(of: try HTTPRequest("GET", to: ["x"]))
        #expect(!witness.isOnMainThread)
    }
}
