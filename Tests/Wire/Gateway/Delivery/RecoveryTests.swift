import GatewayTesting
import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorTestSupport
import Testing

@testable import ParlorDelivery
@testable import ParlorGateway

@Suite("Sockets that reconnect", .timeLimit(.minutes(1)))
struct RecoveryTests {
    /// Connects with a cursor, and reads up to `sync:done`.
    /// - Returns: the socket, the events before, whether all was recovered, and the new cursor.
    private static func connect(
        _ harness: GatewayHarness, since cursor: String
    ) async throws -> (client: SocketIOTestClient, missed: [String], isRecovered: Bool, cursor: String) {
        let client = try await harness.openSocket()
        try await client.send("40{\"token\":\"\(harness.token())\",\"since\":\"\(cursor)\"}")
        #expect(try await client.receive().hasPrefix("40{"))
        var missed: [String] = []
        while true {
            let packet = try await client.next()
            guard case .event(let name, let data) = packet else {
                if packet == .other("closed") { throw WireError.unexpected("the socket was closed") }
                continue
            }
            guard name == "sync:done" else {
                missed.append(name)
                continue
            }
            return (client, missed, data["recovered"]?.bool == true, try #require(data["cursor"]?.string))
        }
    }

    private static func publish(_ harness: GatewayHarness, _ names: String...) {
        for name in names { harness.chat.emit([Emission(to: .room, name, .emptyObject)]) }
    }

    /// Joins a room, and returns the events before the ack, except presence.
    private static func join(_ room: String, _ client: SocketIOTestClient) async throws -> [String] {
        try await client.emit("room:join", "{\"roomId\":\"\(room)\"}", ack: 5)
        var events: [String] = []
        while true {
            switch try await client.next() {
            case .event(let name, _) where name != "room:presence": events.append(name)
            case .ack(5, let answer):
                #expect(answer["success"]?.bool == true)
                return events
            case .other("closed"): throw WireError.unexpected("the socket was closed")
            default: continue
            }
        }
    }

    @Test("an invalid cursor recovers nothing, and the cursor given instead recovers all since")
    func recovers() async throws {
        // On one loop: once one socket was sent a global event, no socket that connects later gets it.
        try await GatewayHarness.run(loops: 1) { harness in
            let first = try await Self.connect(harness, since: "nonsense")
            #expect(!first.isRecovered && first.missed.isEmpty)
            Self.publish(harness, "one", "two")
            harness.chat.emit([Emission(to: .person("ada"), "mine", .emptyObject)])
            harness.chat.emit([Emission(to: .person("bob"), "his", .emptyObject)])
            harness.chat.emit([Emission(to: .everyone, "all", .emptyObject)])
            harness.chat.emit([Emission(to: .room, "elsewhere", .emptyObject)], room: "s", participants: ["bob", "cy"])
            while try await first.client.next() != .event("all", .emptyObject) {}
            let second = try await Self.connect(harness, since: first.cursor)
            #expect(second.isRecovered)
            #expect(second.missed == ["one", "two", "mine"])
            let third = try await Self.connect(harness, since: second.cursor)
            #expect(third.isRecovered)
            #expect(third.missed == [])
        }
    }

    @Test("a room continues from the cursor when joined, and from where it was left when joined again")
    func joins() async throws {
        try await GatewayHarness.run { harness in
            harness.serveRoom()
            let client = try await Self.connect(harness, since: "none").client
            Self.publish(harness, "one", "two")
            #expect(try await Self.join("r", client) == ["one", "two"])
            #expect(try await Self.join("s", client) == [], "which leaves the other")
            Self.publish(harness, "three")
            #expect(try await Self.join("r", client) == ["three"])
            #expect(try await Self.join("r", client) == [], "it has joined it already")
            Self.publish(harness, "live")
            #expect(try await client.next() == .event("live", .emptyObject))
        }
    }

    @Test("a log that starts while a socket is connected does not prevent that its rooms continue")
    func joinsAfterStart() async throws {
        try await GatewayHarness.run(loops: 1) { harness in
            harness.serveRoom()
            let client = try await Self.connect(harness, since: "none").client
            for room in ["r", "s"] { #expect(try await Self.join(room, client) == []) }
            Self.publish(harness, "one")
            let notes = try FakeService.start(Manifest(service: "notes", hasEventLog: true), on: harness.bus)
            defer { notes.stop() }
            notes.emit([Emission(to: .room, "noted", .emptyObject)])
            // It had left this room before the start, and has never joined the other.
            #expect(try await Self.join("r", client) == ["one", "noted"])
            notes.emit([Emission(to: .room, "elsewhere", .emptyObject)], room: "t")
            #expect(try await Self.join("t", client) == ["elsewhere"])
        }
    }

    @Test("what was written in a room before its person came is replayed, too, from memory")
    func cameToRoom() async throws {
        try await GatewayHarness.run(loops: 1, logsAll: true) { harness in
            try await harness.waitUntilCaughtUp()
            let first = try await Self.connect(harness, since: "none")
            harness.chat.emit([Emission(to: .room, "earlier", .emptyObject)], participants: ["bob", "cy"])
            harness.chat.emit([Emission(to: .room, "elsewhere", .emptyObject)], room: "s", participants: ["bob", "cy"])
            let change = PeopleChange(roomID: "r", version: 2, joined: ["ada"])
            harness.rooms.emit([], fact: .peopleChanged(change), participants: ["bob", "cy", "ada"])
            Self.publish(harness, "later")
            harness.rooms.emit([Emission(to: .everyone, "all", .emptyObject)])
            while try await first.client.next() != .event("all", .emptyObject) {}
            let second = try await Self.connect(harness, since: first.cursor)
            #expect(second.isRecovered)
            #expect(second.missed == ["earlier", "later"])
        }
    }

    @Test("a socket that has left very many rooms loads all again, once, and rooms continue from there")
    func leavesMany() async throws {
        try await GatewayHarness.run(["--rate-joins", "1000/1h,1000/1h"], loops: 1) { harness in
            harness.serveRoom()
            let client = try await Self.connect(harness, since: "none").client
            for number in 1...(RoomContinuations.maxRooms + 2) {
                #expect(try await Self.join("room \(number)", client) == [])
            }
            Self.publish(harness, "one")
            #expect(try await Self.join("r", client) == ["sync:done"])
            harness.chat.emit([Emission(to: .room, "two", .emptyObject)], room: "s")
            #expect(try await Self.join("s", client) == ["two"])
            Self.publish(harness, "three")
            #expect(try await Self.join("r", client) == ["three"])
        }
    }

    @Test("events that no gateway has in memory any more are requested from their owner")
    func fromTheOwner() async throws {
        try await GatewayHarness.run { harness in
            harness.rooms.on("rooms.ids", reply: Reply(.ok, try JSONValue(parsing: #"["r"]"#)))
            let cursor = try await Self.connect(harness, since: "none").cursor
            Self.publish(harness, "needle")
            for _ in 1...9000 {
                harness.chat.emit([Emission(to: .everyone, "n", .emptyObject)], room: "s", participants: ["bob", "cy"])
            }
            let back = try await Self.connect(harness, since: cursor)
            #expect(back.isRecovered)
            #expect(back.missed == ["needle"])
        }
    }

    @Test("a person's events are replayed whatever the entry's room, from memory and from the log's owner")
    func withoutRoom() async throws {
        try await GatewayHarness.run { harness in
            harness.rooms.on("rooms.ids", reply: Reply(.ok, try JSONValue(parsing: #"["r"]"#)))
            let cursor = harness.cursor(at: harness.chat)
            let witness = try await harness.connect()
            harness.chat.emit([Emission(to: .person("ada"), "mine", .emptyObject)], room: "", participants: ["ada"])
            harness.chat.emit([Emission(to: .person("ada"), "invited", .emptyObject)], room: "s", participants: ["bob"])
            for name in ["mine", "invited"] { #expect(try await witness.next() == .event(name, .emptyObject)) }
            #expect(try await Self.connect(harness, since: cursor).missed == ["mine", "invited"])
            // Its owner writes events to people outside of a room into entries without one.
            let page = try await harness.request("GET", "/api/sync?since=\(cursor)").json["data"]
            #expect(page?["recovered"]?.bool == true)
            #expect(page?["events"]?.array?.map { $0["event"]?.string } == ["mine"])
        }
    }

    @Test("the events of a service with several logs are sent, and a cursor has a position in each of them")
    func severalLogs() async throws {
        let rooms = ["r", "s", "t", "u", "v", "w"]
        try await GatewayHarness.run { harness in
            harness.chat.spread(over: LogLayout(generation: 1, count: 4))
            let (first, _, _, cursor) = try await Self.connect(harness, since: "none")
            let send = { (name: String) in
                for room in rooms {
                    harness.chat.emit([Emission(to: .person("ada"), "\(name) \(room)", .emptyObject)], room: room)
                }
            }
            send("one")
            var got: Set<String> = []
            while got.count < rooms.count {
                if case .event(let name, _) = try await first.next() { got.insert(name) }
            }
            #expect(got == Set(rooms.map { "one \($0)" }))
            let back = try await Self.connect(harness, since: cursor)
            #expect(back.isRecovered && Set(back.missed) == got && back.missed.count == rooms.count)
        }
    }

    @Test(
        "if a service has other logs, clients load everything once: their sockets close, and their cursors do not fit")
    func otherLogs() async throws {
        try await GatewayHarness.run { harness in
            harness.chat.spread(over: LogLayout(generation: 1, count: 4))
            let (client, _, _, cursor) = try await Self.connect(harness, since: "none")
            // It is written to the old logs, and published by nobody.
            _ = harness.chat.commit([Emission(to: .person("ada"), "lost", .emptyObject)])
            harness.chat.spread(over: LogLayout(generation: 2, count: 8))
            #expect(try await client.receive() == "closed")
            let (again, missed, isRecovered, next) = try await Self.connect(harness, since: cursor)
            #expect(!isRecovered && missed.isEmpty)
            harness.chat.emit([Emission(to: .person("ada"), "found", .emptyObject)])
            #expect(try await again.next() == .event("found", .emptyObject))
            #expect(try await Self.connect(harness, since: next).missed == ["found"])
        }
    }

    @Test("an entry that concerns nobody here is decoded only for a client that catches up")
    func decodedLate() async throws {
        try await GatewayHarness.run(["--global-scope", "participants"]) { harness in
            let cursor = harness.cursor(at: harness.chat)
            let bob = try await harness.connect(GatewayHarness.bob)
            // No service may send the second event. The gateway logs that once it has decoded it.
            let emissions = ["missed", "room:presence"].map { Emission(to: .room, $0, .emptyObject) }
            harness.chat.emit(emissions, room: "s", participants: ["ada", "cy"])
            harness.chat.emit([Emission(to: .person("bob"), "invited", .emptyObject)], room: "s", participants: ["ada"])
            #expect(try await bob.next() == .event("invited", .emptyObject))
            #expect(!harness.log.text.contains("an event is not sent"))
            #expect(try await Self.connect(harness, since: cursor).missed == ["missed"])
            #expect(harness.log.text.contains("an event is not sent"))
        }
    }

    @Test("a replay over the request's time is given up, and events sent meanwhile are answered then")
    func givesUp() async throws {
        try await GatewayHarness.run(["--request-timeout", "1s"]) { harness in
            let (witness, _, _, cursor) = try await Self.connect(harness, since: "none")
            Self.publish(harness, "needle")
            for _ in 1...9000 { harness.chat.emit([], room: "s", participants: ["bob", "cy"]) }
            harness.chat.emit([Emission(to: .person("ada"), "all of them", .emptyObject)])
            while try await witness.next() != .event("all of them", .emptyObject) {}
            // Its owner is there and does not answer.
            let log = harness.log.logger
            harness.rooms.on("rooms.ids") { _ in log.debug("rooms were asked for") }
            harness.chat.on("chat.send", reply: Reply(.ok))
            let client = try await harness.openSocket()
            try await client.send("40{\"token\":\"\(harness.token())\",\"since\":\"\(cursor)\"}")
            #expect(try await client.receive().hasPrefix("40{"))
            try await client.emit("chat:send", "{}", ack: 7)
            var received: [String] = []
            while received.last != "ack" {
                switch try await client.next() {
                case .event("sync:done", let data): received.append("recovered: \(data["recovered"]?.bool ?? true)")
                case .ack(7, _): received.append("ack")
                default: break
                }
            }
            #expect(received == ["recovered: false", "ack"])
            // Once, and not again and again while the socket waits.
            #expect(harness.log.text.split(separator: "rooms were asked for").count == 2)
        }
    }

    @Test("a cursor from before a restored backup recovers nothing")
    func restored() async throws {
        try await GatewayHarness.run { harness in
            Self.publish(harness, "one", "two", "three")
            let cursor = try await Self.connect(harness, since: "none").cursor
            harness.chat.restore(forgetting: 1)
            // Until the gateway has noticed, nothing is missing.
            while try await Self.connect(harness, since: cursor).isRecovered {}
        }
    }

    /// Runs a test with a third service that has a log. The gateway knows the service, and cannot follow the log, as if
    /// the gateway had started while the service is down.
    private static func runUnfollowed(
        requestTimeout: String, _ test: (GatewayHarness, FakeService, FakeBus) async throws -> Void
    ) async throws {
        let bus = FakeBus()
        try await GatewayHarness.run(["--request-timeout", requestTimeout], bus: bus) { harness in
            bus.refuse(Subject.log(of: "notes"))
            let notes = try FakeService.start(Manifest(service: "notes", hasEventLog: true), on: bus)
            defer { notes.stop() }
            try await test(harness, notes, bus)
        }
    }

    @Test("a log whose owner is down since the gateway's start costs clients their replay, and not their connection")
    func ownerDown() async throws {
        try await Self.runUnfollowed(requestTimeout: "2s") { harness, notes, bus in
            let given = harness.cursor(at: harness.chat, notes)
            let first = try await Self.connect(harness, since: given)
            #expect(!first.isRecovered)
            harness.chat.emit([Emission(to: .person("ada"), "mine", .emptyObject)])
            #expect(try await first.client.next() == .event("mine", .emptyObject))
            // The new cursor has no position in the log, so the gateway can evaluate it.
            let second = try await Self.connect(harness, since: first.cursor)
            #expect(second.isRecovered && second.missed == ["mine"])
            bus.refuse(nil)
            notes.announce()
            #expect(try await second.client.receive() == "closed", "it was not sent entries before the start")
            #expect(try await !Self.connect(harness, since: second.cursor).isRecovered)
        }
    }

    @Test("a client whose cursor names a log that is not followed yet waits for it")
    func ownerReturns() async throws {
        try await Self.runUnfollowed(requestTimeout: "60s") { harness, notes, bus in
            let client = try await harness.openSocket()
            let given = harness.cursor(at: harness.chat, notes)
            Self.publish(harness, "one")
            try await client.send("40{\"token\":\"\(harness.token())\",\"since\":\"\(given)\"}")
            #expect(try await client.receive().hasPrefix("40{"))
            bus.refuse(nil)
            notes.announce()
            #expect(try await client.next() == .event("one", .emptyObject))
            guard case .event("sync:done", let data) = try await client.next() else {
                Issue.record("it was not caught up")
                return
            }
            #expect(data["recovered"]?.bool == true)
        }
    }

    @Test("when a service with a log was removed, cursors of sockets and of GET /api/sync fit, also once it returns")
    func removedLog() async throws {
        try await GatewayHarness.run(loops: 1) { harness in
            for subject in ["rooms.list", "rooms.ids"] { harness.rooms.on(subject, reply: Reply(.ok, .emptyArray)) }
            let manifest = Manifest(service: "notes", hasEventLog: true)
            let noted = Emission(to: .person("ada"), "noted", .emptyObject)
            let notes = try FakeService.start(manifest, on: harness.bus)
            let witness = try await Self.connect(harness, since: "none").client
            notes.emit([noted])
            #expect(try await witness.next() == .event("noted", .emptyObject))
            notes.stop()
            #expect(try await harness.forget("notes") == .forgotten)

            let listed = try await harness.request("GET", "/api/sync").json["data"]?["cursor"]?.string
            let socket = try await Self.connect(harness, since: try #require(listed))
            #expect(socket.isRecovered)
            let page = try await harness.request("GET", "/api/sync?since=\(socket.cursor)").json
            #expect(page["data"]?["recovered"]?.bool == true)

            // Its log has begun anew.
            let again = try FakeService.start(manifest, on: harness.bus)
            defer { again.stop() }
            again.emit([noted])
            #expect(try await witness.next() == .event("noted", .emptyObject), "it stays connected")
            let caughtUp = try await Self.connect(harness, since: socket.cursor)
            #expect(caughtUp.isRecovered && caughtUp.missed == ["noted"], "a service was added")
        }
    }

    @Test("a plugin that makes up its log's head keeps nobody from catching up")
    func madeUpHead() async throws {
        try await GatewayHarness.run(loops: 1) { harness in
            for subject in ["rooms.list", "rooms.ids"] { harness.rooms.on(subject, reply: Reply(.ok, .emptyArray)) }
            let notes = try FakeService.start(Manifest(service: "notes", hasEventLog: true), on: harness.bus)
            defer { notes.stop() }
            let witness = try await harness.connect()
            notes.emit([Emission(to: .person("ada"), "noted", .emptyObject)], room: "")
            #expect(try await witness.next() == .event("noted", .emptyObject))
            notes.on(Subject.logPage(of: "notes")) { request in
                let head = LogPosition(databaseID: "made up", seq: 50, digest: 7)
                let page = LogPage(head: head, oldest: 1, isKnown: true, entries: [], through: 50)
                request.reply(Reply(.ok, page.json).json)
            }
            let listed = try await harness.request("GET", "/api/sync").json["data"]?["cursor"]?.string
            let cursor = try #require(listed)
            #expect(try await Self.connect(harness, since: cursor).isRecovered)
            harness.chat.emit([Emission(to: .person("ada"), "chatted", .emptyObject)], room: "")
            #expect(try await witness.next() == .event("chatted", .emptyObject))
            let page = try await harness.request("GET", "/api/sync?since=\(cursor)").json["data"]
            #expect(page?["recovered"]?.bool == true)
            #expect(page?["events"]?.array?.map { $0["event"]?.string } == ["chatted"])
        }
    }

    @Test("a plugin that is down keeps nobody from GET /api/sync; its events come when it is up again")
    func pluginDown() async throws {
        try await GatewayHarness.run(loops: 1) { harness in
            harness.rooms.on("rooms.list", reply: Reply(.ok, .emptyArray))
            harness.rooms.on("rooms.ids", reply: Reply(.ok, .emptyArray))
            func events(since cursor: String) async throws -> (names: [String?]?, cursor: String) {
                let page = try await harness.request("GET", "/api/sync?since=\(cursor)").json["data"]
                let names = page?["events"]?.array?.map { $0["event"]?.string }
                return (names, try #require(page?["cursor"]?.string))
            }
            func noted(_ name: String) -> [Emission] { [Emission(to: .person("ada"), name, .emptyObject)] }
            let notes = try FakeService.start(Manifest(service: "notes", hasEventLog: true), on: harness.bus)
            defer { notes.stop() }
            let witness = try await harness.connect()
            notes.emit(noted("before"), room: "")
            #expect(try await witness.next() == .event("before", .emptyObject))
            notes.takeDown()
            _ = notes.commit(noted("while away"), room: "")

            let list = try await harness.request("GET", "/api/sync").json["data"]?["cursor"]?.string
            var cursor = try #require(list)
            harness.chat.emit(noted("chatted"), room: "")
            #expect(try await witness.next() == .event("chatted", .emptyObject))
            var page = try await events(since: cursor)
            #expect(page.names == ["chatted"])
            cursor = page.cursor
            try notes.bringUp()
            #expect(try await witness.next() == .event("while away", .emptyObject))
            page = try await events(since: cursor)
            #expect(page.names == ["while away"])
        }
    }

    @Test("a plugin with stale fields keeps nobody from GET /api/sync; once it is up again, all is loaded again")
    func staleFields() async throws {
        try await GatewayHarness.run(loops: 1) { harness in
            harness.serveRoom()
            let rooms = JSONWriter.value { $0.array(of: ["r"]) { $0.value(GatewayHarness.base($1)) } }
            harness.rooms.on("rooms.list", reply: Reply(.ok, rooms))
            harness.rooms.on("rooms.ids", reply: Reply(.ok, try JSONValue(parsing: #"["r"]"#)))
            let manifest = Manifest(
                service: "polls",
                contribution: Contribution(subject: "polls.rooms", fields: [.init("polls", zero: JSONValue(0))]),
                hasEventLog: true, logsWhatRoomsShow: true)
            let polls = try FakeService.start(manifest, on: harness.bus)
            defer { polls.stop() }
            polls.on("polls.rooms", error: .unavailable("Polls"))
            let list = try await harness.request("GET", "/api/sync").json
            #expect(list["degraded"]?.text == #"["polls"]"#)
            let cursor = try #require(list["data"]?["cursor"]?.string)
            let page = try await harness.request("GET", "/api/sync?since=\(cursor)").json["data"]
            #expect(page?["recovered"]?.bool == false)
        }
    }

    @Test("entries that a log got while its service was removed are not missed: connected sockets reconnect")
    func grownLog() async throws {
        try await GatewayHarness.run(loops: 1) { harness in
            let notes = try FakeService.start(Manifest(service: "notes", hasEventLog: true), on: harness.bus)
            defer { notes.stop() }
            let client = try await harness.connect()
            notes.emit([Emission(to: .person("ada"), "noted", .emptyObject)])
            #expect(try await client.next() == .event("noted", .emptyObject))
            notes.takeDown()
            #expect(try await harness.forget("notes") == .forgotten)
            notes.emit([Emission(to: .person("ada"), "missed", .emptyObject)])
            notes.announce()
            while try await client.receive() != "closed" {}
        }
    }

    private static let many = [Int](repeating: 12_000, count: 10)

    /// Publishes events of these sizes.
    private static func publish(_ harness: GatewayHarness, sizes: [Int], room: String = "r") {
        for size in sizes {
            let data = JSONWriter.value { $0.string(String(repeating: "x", count: size)) }
            harness.chat.emit([Emission(to: .room, "long", data)], room: room)
        }
    }

    @Test("with the least MAX_PENDING_BYTES a client catches up, also in one room after the other before it reads")
    func leastUnsentBytes() async throws {
        let setting = GatewaySettings.maxUnsentBytes
        #expect(setting.objection(to: "256k") == nil && setting.objection(to: "255k") != nil)
        try await GatewayHarness.run(["--max-pending-bytes", "256k"], loops: 1) { harness in
            harness.serveRoom()
            let poller = try await Poller.open(harness, since: harness.cursor(at: harness.chat))
            try await poller.read { $0.contains("sync:done") }
            Self.publish(harness, sizes: Self.many)
            Self.publish(harness, sizes: Self.many + [64_000], room: "s")
            try await poller.post(#"421["room:join",{"roomId":"r"}]"#)
            try await poller.post(#"422["room:join",{"roomId":"s","keepOthers":true}]"#)
            let packets = try await poller.read { $0.hasPrefix("432") }
            let received = (
                packets.filter { $0.contains("long") }.count, packets.filter { $0.contains("success\":true") }.count
            )
            #expect(received == (21, 2))
        }
    }

    @Test("a socket that its replay closes is not in the audience, neither of its person nor of a room")
    func closedByReplay() async throws {
        try await GatewayHarness.run(["--max-buffered-bytes", "128k"], loops: 1) { harness in
            harness.serveRoom()
            let poller = try await Poller.open(harness, since: harness.cursor(at: harness.chat))
            try await poller.read { $0.contains("sync:done") }
            let cursor = harness.cursor(at: harness.chat)
            // More than the share, in entries that are small enough for one replay from memory.
            Self.publish(harness, sizes: Self.many)
            try await poller.post(#"421["room:join",{"roomId":"r"}]"#)
            try await poller.readToEnd()
            let request = OpenRoomsRequest(log: "chat", members: [.init(roomID: "r", userID: "ada")])
            let delivery = try #require(harness.gateway.parts.fanout.loops.first)
            #expect(await delivery.evidence(for: request).map(\.count) == [0])

            try await Poller.open(harness, since: cursor).readToEnd()
            let bob = try await harness.connect(GatewayHarness.bob)
            // Badges are composed only for people who are connected.
            let asked = harness.chat.hold("chat.contribute")
            for person in ["ada", "bob"] {
                let given = try JSONValue(parsing: #"{"roomId":"r","badges":{}}"#)
                harness.chat.emit([Emission(to: .person(person), "room:badges", given, composition: .badges)])
            }
            let badges = try await asked.next()
            #expect(badges.data["userId"]?.string == "bob")
            badges.reply(Reply(.ok, try JSONValue(parsing: #"{"rooms":[[null,null,0]]}"#)).json)
            while case .event(let name, _) = try await bob.next(), name != "room:badges" {}
        }
    }

    @Test("sockets that reconnect catch up and get live events, however many others are sent meanwhile")
    func underLoad() async throws {
        try await GatewayHarness.run(loops: 1) { harness in
            harness.rooms.on("rooms.ids", reply: Reply(.ok, try JSONValue(parsing: #"["r"]"#)))
            let cursor = try await Self.connect(harness, since: "none").cursor
            Self.publish(harness, "needle")
            let delivery = try #require(harness.gateway.parts.fanout.loops.first)
            let others = Task {
                while !Task.isCancelled {
                    harness.chat.emit([Emission(to: .room, "n", .emptyObject)], room: "s", participants: ["bob", "cy"])
                    // As fast as the loop takes them: more would wait before it, on a busy machine without end.
                    _ = await delivery.positions
                }
            }
            defer { others.cancel() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 1...20 {
                    group.addTask {
                        let back = try await Self.connect(harness, since: cursor)
                        #expect(back.isRecovered && back.missed == ["needle"])
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
