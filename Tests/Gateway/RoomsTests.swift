import Contracts
import JSON
import Testing

@Suite("Rooms through the gateway")
struct RoomsTests {
    @Test("the list is merged and sorted as asked, and unnamed rooms have an empty name")
    func list() async throws {
        try await GatewayWorld.run { world in
            let rooms = [GatewayWorld.base("1", updatedAt: 1000), GatewayWorld.base("2", updatedAt: 3000)]
            world.rooms.on(
                "rooms.list", reply: Reply(.ok, JSONWriter.value { $0.array(of: rooms) { $0.value($1) } }))
            world.chat.on("chat.contribute") { request in
                #expect(request.data.text == #"{"userId":"ada","roomIds":["1","2"]}"#)
                let values = #"{"rooms":[[4000,{"id":"m"},2],[null,null,0]]}"#
                request.reply(Reply(.ok, JSONValue(trusted: Array(values.utf8))).json)
            }
            func ids(_ query: String) async throws -> [String?] {
                try await world.request("GET", "/api/rooms/my-rooms\(query)").json["data"]?.array?.map {
                    $0["id"]?.string
                }
                    ?? []
            }
            #expect(try await ids("") == ["1", "2"])
            #expect(try await ids("?sort=activity") == ["1", "2"])
            #expect(try await ids("?sort=content") == ["2", "1"])
            #expect(try await ids("?sort=messages") == ["1", "2"])
            #expect(try await world.request("GET", "/api/rooms/my-rooms?sort=x").errorCode == "invalid_field")
            let answer = try await world.request("GET", "/api/rooms/my-rooms").json
            let first = answer["data"]?.array?.first
            #expect(first?["name"]?.string == "" && first?["badges"]?["messages"]?.int == 2)
            #expect(first?["lastMessage"]?["id"]?.string == "m" && first?["hasUnread"]?.bool == true)
            #expect(answer["degraded"] == nil)
        }
    }

    @Test("a contributor that is away is named, and what it last said stands in; without that, its zeros")
    func degraded() async throws {
        try await GatewayWorld.run { world in
            world.serveRoom()
            world.contribute(badge: 5, messageAt: 9000)
            #expect(try await world.request("GET", "/api/rooms/1").json["degraded"] == nil)
            world.chat.goAway()
            let known = try await world.request("GET", "/api/rooms/1").json
            #expect(known["degraded"]?.text == #"["chat"]"#)
            #expect(known["data"]?["badges"]?["messages"]?.int == 5)
            #expect(known["data"]?["messagesUpdatedAt"]?.string == "1970-01-01T00:00:09Z")
            let unknown = try await world.request("GET", "/api/rooms/2").json
            #expect(unknown["degraded"]?.text == #"["chat"]"#)
            #expect(unknown["data"]?["badges"]?["messages"]?.int == 0)
            #expect(unknown["data"]?["messagesUpdatedAt"]?.isNull == true)
            let stranger = try await world.request("GET", "/api/rooms/1", as: GatewayWorld.bob).json
            #expect(stranger["data"]?["badges"]?["messages"]?.int == 0)
        }
    }

    @Test(
        "a contributor whose answer makes no sense, or fails, is as good as away",
        arguments: ["{}", #"{"rooms":[]}"#, #"{"rooms":[[1],[2]]}"#, "7"])
    func nonsense(answer: String) async throws {
        try await GatewayWorld.run { world in
            world.serveRoom()
            world.chat.on("chat.contribute", reply: Reply(.ok, JSONValue(trusted: Array(answer.utf8))))
            let room = try await world.request("GET", "/api/rooms/1").json
            #expect(room["degraded"]?.text == #"["chat"]"# && room["data"]?["hasUnread"]?.bool == false)
        }
    }

    @Test("a contributor that knows nothing of a room adds its zeros, and is not away")
    func knowsNothing() async throws {
        try await GatewayWorld.run { world in
            world.serveRoom()
            world.chat.on("chat.contribute", reply: Reply(.ok, JSONValue(trusted: Array(#"{"rooms":[null]}"#.utf8))))
            let room = try await world.request("GET", "/api/rooms/1").json
            #expect(room["degraded"] == nil && room["data"]?["badges"]?["messages"]?.int == 0)
        }
    }
}
