import ParlorContracts
import ParlorJSON
import Testing

@Suite("Rooms through the gateway", .timeLimit(.minutes(1)))
struct RoomsTests {
    @Test("the list is merged and sorted as requested, and unnamed rooms have an empty name")
    func list() async throws {
        try await GatewayHarness.run { harness in
            let rooms = [GatewayHarness.base("1", updatedAt: 1000), GatewayHarness.base("2", updatedAt: 3000)]
            harness.rooms.on(
                "rooms.list", reply: Reply(.ok, JSONWriter.value { $0.array(of: rooms) { $0.value($1) } }))
            harness.chat.on("chat.contribute") { request in
                #expect(request.data.text == #"{"userId":"ada","roomIds":["1","2"]}"#)
                let values = #"{"rooms":[[4000,{"id":"m"},2],[null,null,0]]}"#
                request.reply(Reply(.ok, JSONValue(trusted: Array(values.utf8))).json)
            }
            func ids(_ query: String) async throws -> [String?] {
                try await harness.request("GET", "/api/rooms/my-rooms\(query)").json["data"]?.array?.map {
                    $0["id"]?.string
                }
                    ?? []
            }
            #expect(try await ids("") == ["1", "2"])
            #expect(try await ids("?sort=activity") == ["1", "2"])
            #expect(try await ids("?sort=content") == ["2", "1"])
            #expect(try await ids("?sort=messages") == ["1", "2"])
            #expect(try await harness.request("GET", "/api/rooms/my-rooms?sort=x").errorCode == "invalid_field")
            let answer = try await harness.request("GET", "/api/rooms/my-rooms").json
            let first = answer["data"]?.array?.first
            #expect(first?["name"]?.string == "" && first?["badges"]?["messages"]?.int == 2)
            #expect(first?["lastMessage"]?["id"]?.string == "m" && first?["hasUnread"]?.bool == true)
            #expect(answer["degraded"] == nil)
        }
    }

    @Test("a paged list is one list, and its pages share the time of one answer")
    func pages() async throws {
        try await GatewayHarness.run { harness in
            harness.serveRoom()
            let asked = harness.rooms.hold("rooms.list")
            async let response = harness.request("GET", "/api/rooms/my-rooms?sort=content")
            var left: [Duration] = []
            for (number, next) in ["b", "c", nil].enumerated() {
                let request = try await asked.next()
                #expect(request.data["cursor"]?.string == [nil, "b", "c"][number])
                #expect(request.data["sort"]?.string == "content")
                left.append(request.context.timeout)
                let rooms = (1...2).map {
                    GatewayHarness.base("\(number)\($0)", updatedAt: 9000 - number * 2000 - $0 * 1000)
                }
                let page = JSONWriter.value { $0.array(of: rooms) { $0.value($1) } }
                request.reply(Reply(.ok, page, page: next.map { JSONValue($0) }).json)
            }
            let ids = try await response.json["data"]?.array?.map { $0["id"]?.string }
            #expect(ids == ["01", "02", "11", "12", "21", "22"])
            #expect(left[0] > left[1] && left[1] > left[2])
        }
    }

    @Test("a list by people combines the rooms and the people of all pages")
    func pagesByPerson() async throws {
        try await GatewayHarness.run { harness in
            harness.serveRoom()
            harness.rooms.on("rooms.by-person") { request in
                let isLast = request.data["cursor"] != nil
                let page = JSONWriter.object { json in
                    json.member("rooms", array: { $0.value(GatewayHarness.base(isLast ? "2" : "1")) })
                    json.member(
                        "people",
                        array: { json in
                            if isLast {
                                json.value(Person(id: "bob", username: "bob", firstName: nil, email: nil).json)
                            }
                        })
                }
                request.reply(Reply(.ok, page, page: isLast ? nil : JSONValue("more")).json)
            }
            let people = try await harness.request("GET", "/api/rooms/grouped-by-person").json["data"]?.array
            #expect(people?.map { $0["id"]?.string } == ["bob"])
            #expect(people?.first?["rooms"]?.array?.count == 2)
        }
    }

    @Test("an unavailable contributor is named, and its last values stand in; without those, its zeros")
    func degraded() async throws {
        try await GatewayHarness.run { harness in
            harness.serveRoom()
            harness.contribute(badge: 5, messageAt: 9000)
            #expect(try await harness.request("GET", "/api/rooms/1").json["degraded"] == nil)
            harness.chat.takeDown()
            let known = try await harness.request("GET", "/api/rooms/1").json
            #expect(known["degraded"]?.text == #"["chat"]"#)
            #expect(known["data"]?["badges"]?["messages"]?.int == 5)
            #expect(known["data"]?["messagesUpdatedAt"]?.string == "1970-01-01T00:00:09Z")
            let unknown = try await harness.request("GET", "/api/rooms/2").json
            #expect(unknown["degraded"]?.text == #"["chat"]"#)
            #expect(unknown["data"]?["badges"]?["messages"]?.int == 0)
            #expect(unknown["data"]?["messagesUpdatedAt"]?.isNull == true)
            let stranger = try await harness.request("GET", "/api/rooms/1", as: GatewayHarness.bob).json
            #expect(stranger["data"]?["badges"]?["messages"]?.int == 0)
        }
    }

    @Test(
        "a contributor whose reply is invalid, or an error, counts as unavailable",
        arguments: ["{}", #"{"rooms":[]}"#, #"{"rooms":[[1],[2]]}"#, "7"])
    func nonsense(answer: String) async throws {
        try await GatewayHarness.run { harness in
            harness.serveRoom()
            harness.chat.on("chat.contribute", reply: Reply(.ok, JSONValue(trusted: Array(answer.utf8))))
            let room = try await harness.request("GET", "/api/rooms/1").json
            #expect(room["degraded"]?.text == #"["chat"]"# && room["data"]?["hasUnread"]?.bool == false)
            #expect(harness.log.text.contains("`data.rooms` is no list of 1"))
        }
    }

    @Test("a contributor that answers with an error is named in the log, with the error")
    func refusingContributor() async throws {
        try await GatewayHarness.run { harness in
            harness.serveRoom()
            harness.chat.on("chat.contribute", error: ServiceError(.forbidden, "Not for you."))
            let room = try await harness.request("GET", "/api/rooms/1").json
            #expect(room["degraded"]?.text == #"["chat"]"#)
            #expect(harness.log.text.contains("forbidden: Not for you."))
        }
    }

    @Test(
        "a badge that is no whole number from 0, or too few values, are shown as the zeros",
        arguments: [#"["three"]"#, "[-4]", "[1.5]", "[null]", #"[{"a":1}]"#, "[]", "[1,2,3,4,5,6]", "7"])
    func wrongValues(values: String) async throws {
        try await GatewayHarness.run { harness in
            harness.serveRoom()
            let answer = #"{"rooms":[\#(values)]}"#
            harness.chat.on("chat.contribute", reply: Reply(.ok, JSONValue(trusted: Array(answer.utf8))))
            let room = try await harness.request("GET", "/api/rooms/1").json
            #expect(room["degraded"] == nil && room["data"]?["badges"]?["messages"]?.int == 0)
        }
    }

    @Test("a contributor that knows nothing of a room adds its zeros, and is available")
    func knowsNothing() async throws {
        try await GatewayHarness.run { harness in
            harness.serveRoom()
            harness.chat.on("chat.contribute", reply: Reply(.ok, JSONValue(trusted: Array(#"{"rooms":[null]}"#.utf8))))
            let room = try await harness.request("GET", "/api/rooms/1").json
            #expect(room["degraded"] == nil && room["data"]?["badges"]?["messages"]?.int == 0)
        }
    }
}
