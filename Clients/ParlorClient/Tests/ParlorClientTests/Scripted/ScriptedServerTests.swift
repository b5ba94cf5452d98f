import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@Suite("ScriptedServer", .timeLimit(.minutes(1)))
struct ScriptedServerTests {
    private let clock: TestClock
    private let server: ScriptedServer
    private let ada: Person
    private let bob: Person
    private let roomID: String
    private let phone: ScriptedDevice

    init() throws {
        clock = TestClock()
        server = ScriptedServer(clock: clock)
        ada = server.addPerson("ada", firstName: "Ada")
        bob = server.addPerson("bob")
        roomID = try server.makeRoom(by: ada.id, with: bob.id)
        phone = server.makeDevice()
    }

    private func join(_ client: ScriptedClient) async throws {
        try await client.emit("room:join", .object(["roomId": .string(roomID)]), ack: 0)
        while !(try await client.connection.receive()).hasPrefix("430") {}
    }

    private func send(_ text: String, tempID: String, ack: Int, on client: ScriptedClient) async throws {
        let fields: [String: JSON] = ["roomId": .string(roomID), "text": .string(text), "tempId": .string(tempID)]
        try await client.emit("message:send", .object(fields), ack: ack)
    }

    private func get(_ path: String, query: [URLQueryItem] = [], as person: Person? = nil) async throws -> (Int, JSON) {
        var headers: [String: String] = [:]
        if let person { headers["Authorization"] = "Bearer \(try server.makeSession(of: person).token)" }
        let response = try await phone.send(HTTPRequest("GET", path, query: query, headers: headers))
        return (response.status, try JSONDecoder().decode(JSON.self, from: response.body))
    }

    @Test("events precede the ack, first to the room, then to everyone")
    func echoBeforeAck() async throws {
        let client = try await ScriptedClient(phone, as: ada, on: server)
        try await join(client)
        try await send("hello", tempID: "t1", ack: 1, on: client)
        let echo = try await client.event()
        #expect(echo.name == "message:new")
        #expect(echo.data["message"]?["tempId"] == .string("t1"))
        let global = try await client.event()
        #expect(global.name == "message:new:global")
        #expect(global.data["text"] == nil)
        let ack = try await client.ack(1)
        #expect(ack["success"] == .bool(true))
        #expect(ack["seq"] == .integer(1))
    }

    @Test("a repeated tempId stores and emits nothing")
    func idempotency() async throws {
        let client = try await ScriptedClient(phone, as: ada, on: server)
        try await send("hello", tempID: "t1", ack: 1, on: client)
        _ = try await client.event()
        let first = try await client.ack(1)
        try await send("another", tempID: "t1", ack: 2, on: client)
        let second = try await client.ack(2)
        #expect(second["messageId"] == first["messageId"])
        #expect(second["duplicate"] == .bool(true))
        #expect(server.texts(in: roomID) == ["hello"])
    }

    @Test("a cursor with a position outside the log is refused", arguments: [-1, 100])
    func invalidPosition(position: Int) async throws {
        let (_, synced) = try await get("/api/sync", as: ada)
        var parts = try #require(synced["data"]?["cursor"]?.string).split(separator: "/").map(String.init)
        parts[1] = String(position)
        let query = [URLQueryItem(name: "since", value: parts.joined(separator: "/"))]
        let (status, answer) = try await get("/api/sync", query: query, as: ada)
        #expect(status == 422)
        #expect(answer["error"]?["code"] == .string("invalid_field"))
    }

    @Test("a socket that reconnects with a cursor gets the missed events, then sync:done")
    func recovery() async throws {
        let (_, synced) = try await get("/api/sync", as: ada)
        try server.post("one", in: roomID, by: bob.id)
        try server.addElement(in: roomID, by: bob.id)
        let client = try await ScriptedClient(phone, as: ada, on: server, since: synced["data"]?["cursor"]?.string)
        #expect(try await client.names(3) == ["message:new", "element:created", "sync:done"])
    }

    @Test("a forgotten history is not recovered")
    func forgotten() async throws {
        let (_, synced) = try await get("/api/sync", as: ada)
        server.forgetHistory()
        let client = try await ScriptedClient(phone, as: ada, on: server, since: synced["data"]?["cursor"]?.string)
        let done = try await client.event()
        #expect(done.data["recovered"] == .bool(false))
    }

    @Test("joining replays a room from the cursor, and resets its unseen count")
    func joining() async throws {
        let (_, synced) = try await get("/api/sync", as: ada)
        let client = try await ScriptedClient(phone, as: ada, on: server, since: synced["data"]?["cursor"]?.string)
        #expect(try await client.names(1) == ["sync:done"])
        try server.addElement(in: roomID, by: bob.id)
        #expect(try await client.names(1) == ["element:created:global"])
        try await client.emit("room:join", .object(["roomId": .string(roomID)]), ack: 1)
        #expect(try await client.names(3) == ["element:created", "room:presence", "room:badges"])
        let ack = try await client.ack(1)
        #expect(ack["room"]?["badges"]?["elements"] == .integer(0))
        #expect(ack["room"]?["isActive"] == .bool(true))
    }

    @Test("a bad token is refused with CONNECT_ERROR, and another CONNECT may follow")
    func badToken() async throws {
        let connection = try await phone.connect(to: URL(filePath: "/socket.io/"))
        _ = try await connection.receive()
        try await connection.send(#"40{"token":"none"}"#)
        #expect(
            try await connection.receive() == #"44{"data":{"code":"unauthenticated"},"message":"unauthorized"}"#)
        try await connection.send(#"40{"token":"\#(try server.makeSession(of: ada).token)"}"#)
        #expect(try await connection.receive().hasPrefix("40"))
    }

    @Test("tokens expire by the clock, or when the test says so")
    func expiry() async throws {
        let token = try server.makeSession(of: ada).token
        let request = HTTPRequest("GET", "/api/users/me", headers: ["Authorization": "Bearer \(token)"])
        #expect(try await phone.send(request).status == 200)
        await clock.advance(by: .seconds(15 * 60))
        #expect(try await phone.send(request).status == 401)
        let client = try await ScriptedClient(phone, as: ada, on: server)
        server.expireTokens()
        await #expect(throws: ClientFailure.self) { try await client.connection.receive() }
    }

    @Test("refresh tokens work once")
    func refreshing() async throws {
        let body = try JSONEncoder().encode(["refreshToken": server.makeSession(of: ada).refreshToken])
        #expect(try await phone.send(HTTPRequest("POST", "/api/auth/refresh", body: body)).status == 200)
        #expect(try await phone.send(HTTPRequest("POST", "/api/auth/refresh", body: body)).status == 401)
    }

    @Test("rooms are listed as the contract says")
    func rooms() async throws {
        try server.post("hi", in: roomID, by: bob.id)
        let (status, answer) = try await get("/api/rooms/my-rooms", as: ada)
        #expect(status == 200)
        guard case .array(let rooms)? = answer["data"] else { throw ScriptedClient.NotExpected(packet: "no list") }
        #expect(rooms.count == 1)
        #expect(rooms[0]["name"] == .string(""))
        #expect(rooms[0]["displayName"] == .string("Ada & bob"))
        #expect(rooms[0]["lastActivityType"] == .string("message"))
        #expect(rooms[0]["badges"]?["messages"] == .integer(1))
        #expect(rooms[0]["lastMessage"]?["text"] == .string("hi"))
        #expect(rooms[0]["createdAt"]?.string?.count == 20)
        #expect(rooms[0]["lastActivityAt"]?.string?.count == 24)
        let stranger = server.addPerson("eve")
        let (refused, failure) = try await get("/api/rooms/\(roomID)", as: stranger)
        #expect(refused == 404)
        #expect(failure["error"]?["code"] == .string("room_not_found"))
    }

    @Test("messages are listed in pages, in both directions")
    func pages() async throws {
        for number in 1...5 { try server.post("\(number)", in: roomID, by: bob.id) }
        let path = "/api/rooms/\(roomID)/messages"
        func seqs(_ query: [URLQueryItem]) async throws -> ([Int], JSON?) {
            let (_, answer) = try await get(path, query: query, as: ada)
            guard case .array(let messages)? = answer["data"] else { return ([], nil) }
            let seqs = messages.compactMap { message -> Int? in
                if case .integer(let seq)? = message["seq"] { seq } else { nil }
            }
            return (seqs, answer["page"]?["next"])
        }
        #expect(try await seqs([.init(name: "limit", value: "2")]) == ([4, 5], .string("4")))
        let older = [URLQueryItem(name: "limit", value: "2"), URLQueryItem(name: "before", value: "4")]
        #expect(try await seqs(older) == ([2, 3], .string("2")))
        let first = [URLQueryItem(name: "limit", value: "3"), URLQueryItem(name: "after", value: "0")]
        #expect(try await seqs(first) == ([1, 2, 3], .string("3")))
        #expect(try await seqs([.init(name: "after", value: "3")]) == ([4, 5], .null))
    }

    @Test("elements are listed in pages of 200, or of up to 500 if the client asks for as many")
    func elementPages() async throws {
        for _ in 1...501 { try server.addElement(in: roomID, by: bob.id) }
        func count(_ query: [URLQueryItem]) async throws -> Int? {
            try await get("/api/rooms/\(roomID)/elements", query: query, as: ada).1["data"]?.array?.count
        }
        #expect(try await count([]) == 200)
        #expect(try await count([.init(name: "limit", value: "600")]) == 500)
    }

    @Test("a refusal says what a value of another type should be")
    func malformed() async throws {
        func message(_ event: String, _ fields: [String: JSON]) -> String? {
            let fields = fields.merging(["roomId": .string(roomID)]) { $1 }
            return #expect(throws: Refusal.self) { try server.act(as: ada.id, event, .object(fields)) }?.message
        }
        #expect(message("message:send", ["text": .integer(1)]) == "text is not a string.")
        #expect(message("messages:mark-read", ["messageIds": .string("m")]) == "messageIds is not a list.")
        let ids: JSON = .array([.string("m"), .integer(1)])
        #expect(
            message("messages:mark-read", ["messageIds": ids]) == "messageIds has something that is not a string.")
        let note = ["type": JSON.string("note")]
        #expect(message("element:create", note.merging(["content": .bool(true)]) { $1 }) == "content is not an object.")
        let position: JSON = ["x": .string("0"), "y": .integer(0)]
        #expect(
            message("element:create", note.merging(["position": position]) { $1 }) == "position.x is not a number.")
        let body = try await phone.send(HTTPRequest("POST", "/api/auth/login", body: Data("[]".utf8)))
        let answer = try JSONDecoder().decode(JSON.self, from: body.body)
        #expect(answer["error"]?["message"] == .string("The body is not a JSON object."))
    }

    @Test("a scripted refusal applies once")
    func refusing() async throws {
        let client = try await ScriptedClient(phone, as: ada, on: server)
        server.refuseNext("message:send", with: Refusal(code: "rate_limited", message: "Slowly.", isRetryable: true))
        try await send("one", tempID: "t1", ack: 1, on: client)
        let refused = try await client.ack(1)
        #expect(refused["error"]?["code"] == .string("rate_limited"))
        #expect(refused["error"]?["retryable"] == .bool(true))
        try await send("one", tempID: "t1", ack: 2, on: client)
        #expect(try await client.names(2) == ["message:new:global", "ack"])
    }

    @Test("typing ends if it is not renewed, and is not sent to the person who types")
    func typing() async throws {
        let client = try await ScriptedClient(phone, as: ada, on: server)
        try await join(client)
        let other = try await ScriptedClient(server.makeDevice(), as: bob, on: server)
        let fields: [String: JSON] = ["roomId": .string(roomID), "isTyping": .bool(true)]
        try await other.emit("message:typing", .object(fields), ack: 1)
        #expect(try await other.ack(1)["success"] == .bool(true))
        #expect(try await client.event().data["isTyping"] == .bool(true))
        await clock.advance(by: .seconds(3))
        server.endStaleTyping()
        #expect(try await client.event().data["isTyping"] == .bool(false))
    }
}
