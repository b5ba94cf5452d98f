import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorTestSupport
import Synchronization
import Testing

@testable import ParlorGateway
@testable import ParlorRoomViews

@Suite("Cached room lists", .timeLimit(.minutes(1)))
struct RoomListTests {
    /// The rooms of Ada and Bob, with the number of requests for them.
    private final class House: Sendable {
        let harness: GatewayHarness
        private let asked = Mutex(0)
        /// The update time of each room, by id.
        private let rooms = Mutex(["r": 5000])

        init(_ harness: GatewayHarness) {
            self.harness = harness
            harness.serveRoom()
            harness.rooms.on("rooms.list") { [self] request in
                asked.withLock { $0 += 1 }
                let cursor = (request.data["cursor"] ?? request.data["below"])?.string ?? "~"
                let rooms = rooms.withLock { $0 }.filter { $0.key < cursor }.sorted { $0.key > $1.key }
                request.reply(
                    Reply(
                        .ok,
                        JSONWriter.value { json in
                            json.array(of: rooms) { $0.value(GatewayHarness.base($1.key, updatedAt: $1.value)) }
                        }
                    ).json)
            }
            harness.rooms.on("rooms.get") { [self] request in
                let id = request.data["roomId"]?.string ?? ""
                guard let updatedAt = rooms.withLock({ $0[id] }) else {
                    return request.reply(ServiceError.roomNotFound.json)
                }
                request.reply(Reply(.ok, GatewayHarness.base(id, updatedAt: updatedAt)).json)
            }
        }

        /// Creates or changes a room; the caller emits the entry.
        func update(_ id: String, at time: Int) { rooms.withLock { $0[id] = time } }

        func ids(_ query: String = "") async throws -> [String?] {
            try await list(query).json["data"]?.array?.map { $0["id"]?.string } ?? []
        }

        var count: Int { asked.withLock { $0 } }

        func list(
            _ query: String = "", as caller: Caller = GatewayHarness.ada, tag: String? = nil, method: String = "GET"
        ) async throws -> RawResponse {
            try await harness.request(
                method, "/api/rooms/my-rooms\(query)", as: caller, headers: tag.map { ["If-None-Match: \($0)"] } ?? [])
        }

        /// Requests the list until an answer is from the cache.
        @discardableResult
        func cachedList(_ query: String = "") async throws -> RawResponse {
            while true {
                let before = count
                let answer = try await list(query)
                if count == before { return answer }
            }
        }

        /// Waits until the gateway has followed both logs to their ends. Lists get an entry before
        /// clients do.
        func settle(_ client: SocketIOTestClient) async throws {
            for service in [harness.rooms, harness.chat] {
                service.emit([Emission(to: .person("ada"), "settled", .emptyObject)], room: "x", participants: ["bob"])
                while try await client.next() != .event("settled", .emptyObject) {}
            }
        }

        /// Returns whether the whole next answer is composed.
        func isComposed(_ query: String = "", as caller: Caller = GatewayHarness.ada) async throws -> Bool {
            let before = count
            #expect(try await list(query, as: caller).status == 200)
            return count > before
        }

        func badge() async throws -> Int? {
            try await list().json["data"]?.array?.first?["badges"]?["messages"]?.int
        }
    }

    private static func run(
        loops: Int = 2, bus: any MessageBus = InProcessBus(), _ test: (GatewayHarness, House) async throws -> Void
    ) async throws {
        try await GatewayHarness.run(loops: loops, logsAll: true, bus: bus) { try await test($0, House($0)) }
    }

    /// Comes to everyone connected.
    private func news(_ number: Int) -> Emission { Emission(to: .everyone, "news", JSONValue(number)) }

    @Test("an unchanged list is answered from the cache, to its person and in its order")
    func unchanged() async throws {
        try await Self.run { _, house in
            let first = try await house.cachedList()
            #expect(try await house.list().body == first.body)
            #expect(try await !house.isComposed())
            #expect(try await house.isComposed(as: GatewayHarness.bob))
            #expect(try await house.isComposed("?sort=content"))
            #expect(try await !house.isComposed("?sort=activity"))
            #expect(try await !house.isComposed("?sort=content"))
            #expect(try await !house.isComposed(as: GatewayHarness.bob))
            // Other requests may be a part of it.
            for _ in 1...2 { #expect(try await house.isComposed("?below=x")) }
        }
    }

    @Test("an entry of either log that concerns the person is in the next answer", arguments: ["chat", "rooms"])
    func changed(log: String) async throws {
        try await Self.run { harness, house in
            for badge in 1...3 {
                try await house.cachedList()
                harness.contribute(badge: badge)
                if log == "chat" { harness.chat.emit([]) } else { harness.rooms.emit([]) }
                #expect(try await house.badge() == badge)
            }
        }
    }

    @Test("only a changed room is recomposed, and the order is that of the change")
    func oneRoom() async throws {
        try await Self.run { harness, house in
            let client = try await harness.connect()
            for (number, id) in ["a", "b", "c"].enumerated() { house.update(id, at: 6000 + number) }
            #expect(try await house.cachedList().header("ETag") != nil)
            let count = house.count
            house.update("a", at: 9000)
            harness.rooms.emit([], room: "a")
            harness.contribute(badge: 4)
            harness.chat.emit([], room: "b")
            // A list is composed whole, too, while a log has an entry that the gateway has not got yet.
            try await house.settle(client)
            let rooms = try await house.list().json["data"]?.array ?? []
            #expect(rooms.map { $0["id"]?.string } == ["a", "c", "b", "r"])
            #expect(rooms.map { $0["badges"]?["messages"]?.int } == [4, 0, 4, 0])
            #expect(try await house.list().json["data"]?.array == rooms)
            #expect(house.count == count)
            // Values of a room that was requested by itself stay known while its service is down.
            harness.chat.takeDown()
            let degraded = try await house.list().json
            #expect(degraded["data"]?.array == rooms && degraded["degraded"] != nil)
        }
    }

    @Test("up to half of many rooms are recomposed by themselves; more make a new list", arguments: [50, 51])
    func manyRooms(changed: Int) async throws {
        try await Self.run { harness, house in
            let client = try await harness.connect()
            let ids = (100..<199).map { "\($0)" }
            for (number, id) in ids.enumerated() { house.update(id, at: 6000 + number) }
            try await house.cachedList()
            let count = house.count
            for (number, id) in ids.prefix(changed).enumerated() {
                house.update(id, at: 9000 + number)
                harness.rooms.emit([], room: id)
            }
            try await house.settle(client)
            let order = ids.prefix(changed).reversed() + ids.dropFirst(changed).reversed() + ["r"]
            #expect(try await house.ids() == Array(order))
            #expect(house.count == count + (changed == 50 ? 0 : 1))
        }
    }

    @Test("a new room, or a change of more than a room, makes a new list", arguments: ["new", ""])
    func anew(roomID: String) async throws {
        try await Self.run { harness, house in
            try await house.cachedList()
            house.update("new", at: 9000)
            harness.rooms.emit([], room: roomID)
            #expect(try await house.ids() == ["new", "r"])
        }
    }

    @Test("a changed room that its service no longer has makes a new list")
    func gone() async throws {
        try await Self.run { harness, house in
            house.update("other", at: 9000)
            try await house.cachedList()
            harness.rooms.on("rooms.get", error: ServiceError.roomNotFound)
            harness.rooms.emit([])
            #expect(try await house.isComposed())
        }
    }

    @Test("others' entries change nothing")
    func others() async throws {
        try await Self.run { harness, house in
            let client = try await harness.connect()
            try await house.cachedList()
            harness.chat.emit([news(1)], participants: ["bob", "eve"])
            #expect(try await client.next() == .event("news", JSONValue(1)))
            #expect(try await !house.isComposed())
        }
    }

    @Test("committed changes are in the answer, even if this gateway has yet to receive them")
    func unreceived() async throws {
        try await Self.run { harness, house in
            try await house.cachedList()
            harness.contribute(badge: 5)
            // So it looks here when the client has asked another gateway for the change, and has its answer.
            let entry = harness.chat.commit([])
            #expect(try await house.badge() == 5)
            harness.contribute(badge: 6)
            _ = harness.chat.commit([])
            #expect(try await house.badge() == 6)
            harness.chat.publish(entry)
            #expect(try await house.badge() == 6)
        }
    }

    @Test(
        "an entry that arrives while a list is composed, and that it may lack, prevents caching",
        arguments: [false, true])
    func meanwhile(isNew: Bool) async throws {
        try await Self.run { harness, house in
            let client = try await harness.connect()
            try await house.cachedList()
            harness.chat.emit([], room: isNew ? "new" : "r")
            let asked = harness.chat.hold("chat.contribute")
            async let answer = house.badge()
            let question = try await asked.next()
            harness.chat.emit([news(1)])
            #expect(try await client.next() == .event("news", JSONValue(1)))
            let old = #"{"rooms":[[null,null,1]]}"#
            question.reply(Reply(.ok, JSONValue(trusted: Array(old.utf8))).json)
            // Or what was known before, if that took too long.
            _ = try await answer
            harness.contribute(badge: 2)
            #expect(try await house.badge() == 2)
        }
    }

    @Test("opening or leaving a room is visible at once")
    func presence() async throws {
        try await Self.run { harness, house in
            func isActive() async throws -> Bool? {
                try await house.list().json["data"]?.array?.first?["isActive"]?.bool
            }
            try await house.cachedList()
            let bob = try await harness.join(GatewayHarness.bob)
            #expect(try await isActive() == true)
            try await house.cachedList()
            // Elsewhere: this list is the same.
            _ = try await harness.join(GatewayHarness.bob, room: "other")
            #expect(try await !house.isComposed())
            _ = try await bob.ask("room:leave", #"{"roomId":"r"}"#)
            #expect(try await isActive() == false)
        }
    }

    @Test("people who open many rooms at once cause one request for all of them")
    func presenceInManyRooms() async throws {
        try await Self.run { harness, house in
            let ids = (10..<30).map { "r\($0)" }
            for id in ids { house.update(id, at: 6000) }
            try await house.cachedList()
            var clients: [SocketIOTestClient] = []
            for id in ids { clients.append(try await harness.join(GatewayHarness.bob, room: id)) }
            #expect(try await house.isComposed())
            withExtendedLifetime(clients) {}
        }
    }

    @Test("while a service is down the list comes from the cache too, and it is fresh once the service is up again")
    func degraded() async throws {
        try await Self.run { harness, house in
            let whole = try await house.cachedList()
            harness.chat.takeDown()
            _ = try await house.list()
            let answer = try await house.cachedList()
            #expect(try answer.json["degraded"]?.text == #"["chat"]"#)
            #expect(answer.header("ETag") != whole.header("ETag"))
            harness.contribute(badge: 7)
            try harness.chat.bringUp()
            let back = try await house.list()
            #expect(try back.json["degraded"] == nil)
            #expect(try await house.badge() == 7)
            #expect(try await house.cachedList().json["degraded"] == nil)
        }
    }

    @Test("a service that comes back with the same values is no longer named as degraded")
    func sameValues() async throws {
        try await Self.run { harness, house in
            let whole = try await house.cachedList()
            harness.chat.takeDown()
            _ = try await house.list()
            #expect(try await house.cachedList().json["degraded"] != nil)
            try harness.chat.bringUp()
            let back = try await house.list()
            #expect(back.body == whole.body && back.header("ETag") == whole.header("ETag"))
        }
    }

    @Test("a page of the list keeps the known values of the other rooms when a service is unavailable")
    func page() async throws {
        try await Self.run { harness, house in
            harness.contribute(badge: 5)
            for id in ["a", "b", "c"] { house.update(id, at: 6000) }
            let whole = try await house.list().json
            #expect(try await house.ids("?below=c") == ["b", "a"])
            harness.chat.takeDown()
            let degraded = try await house.list().json
            #expect(degraded["degraded"] != nil && degraded["data"]?.text == whole["data"]?.text)
        }
    }

    @Test("values answered from the cache stay known while their service is down, however many answers followed")
    func answeredAgain() async throws {
        try await Self.run { harness, house in
            harness.contribute(badge: 5)
            let list = try await house.cachedList()
            for round in 1...3 {
                for number in 0..<StaleRoomCache.generationSize {
                    harness.gateway.parts.cache.stale.note(
                        "chat", "\(round)-\(number)", ["r"], [.emptyArray], as: .some)
                }
                #expect(try await house.cachedList().body == list.body)
            }
            harness.chat.takeDown()
            #expect(try await house.badge() == 5)
        }
    }

    @Test("a service whose log does not cover its changes is asked for each list; all else comes from the cache")
    func unlogged() async throws {
        try await Self.run { harness, house in
            for id in ["a", "b"] { house.update(id, at: 6000) }
            var manifest = harness.chat.manifest
            manifest.logsWhatRoomsShow = false
            manifest.routes.append(Route("GET", "/api/learned", "chat.learned"))
            harness.chat.on("chat.learned", reply: Reply())
            harness.chat.announce(manifest)
            while try await harness.request("GET", "/api/learned").status == 404 {}
            let before = try await house.cachedList()
            harness.contribute(badge: 3)
            let count = house.count
            let after = try await house.list()
            #expect(try after.json["data"]?.array?.map { $0["badges"]?["messages"]?.int } == [3, 3, 3])
            #expect(after.header("ETag") != before.header("ETag"))
            // Only the rooms whose values changed were fetched again.
            #expect(house.count == count)
            harness.chat.takeDown()
            let degraded = try await house.cachedList().json
            #expect(degraded["degraded"]?.text == #"["chat"]"#)
            #expect(degraded["data"]?.text == (try after.json["data"]?.text))
        }
    }

    @Test("a log with another history invalidates every list")
    func restored() async throws {
        try await Self.run { harness, house in
            harness.chat.emit([])
            try await house.cachedList()
            harness.contribute(badge: 7)
            harness.chat.restore(forgetting: 1)
            #expect(try await house.badge() == 7)
        }
    }

    @Test("a service that changes its contribution is asked again")
    func manifest() async throws {
        try await Self.run { harness, house in
            try await house.cachedList()
            var manifest = harness.chat.manifest
            manifest.contribution = Contribution(
                subject: "chat.contribute", fields: [.init("badges.letters", zero: JSONValue(0))])
            harness.chat.announce(manifest)
            // The loop processes the announcement.
            while try await house.list().json["data"]?.array?.first?["badges"]?.object?.names != ["letters"] {}
            #expect(try await house.badge() == nil)
        }
    }

    // MARK: Tags

    @Test("a client that has the current list gets 304 without a body")
    func notModified() async throws {
        try await Self.run { harness, house in
            for answer in [try await house.list(), try await house.cachedList()] {
                let tag = try #require(answer.header("ETag"))
                #expect(answer.status == 200 && answer.header("Cache-Control") == "private, no-cache")
                for known in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
                    let again = try await house.list(tag: known)
                    #expect(again.status == 304 && again.body.isEmpty)
                    #expect(again.header("ETag") == tag && again.header("Content-Length") == nil)
                    #expect(again.header("Cache-Control") == "private, no-cache" && again.header("X-Request-Id") != nil)
                }
                #expect(try await house.list(tag: "\"other\"").body == answer.body)
                #expect(try await house.list(tag: tag, method: "HEAD").status == 304)
            }
        }
    }

    @Test("a change gives the list another tag, and a change back the old one")
    func tags() async throws {
        try await Self.run { harness, house in
            let tag = try await house.cachedList().header("ETag")
            harness.contribute(badge: 1)
            harness.chat.emit([])
            let changed = try await house.list(tag: tag)
            #expect(changed.status == 200 && changed.header("ETag") != tag)
            harness.contribute(badge: 0)
            harness.chat.emit([])
            #expect(try await house.list(tag: tag).status == 304)
        }
    }
}
