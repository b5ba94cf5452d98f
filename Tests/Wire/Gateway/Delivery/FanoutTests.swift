import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorTestSupport
import Testing

@testable import ParlorDelivery

@Suite("Events through the gateway", .timeLimit(.minutes(1)))
struct FanoutTests {
    private func data(_ number: Int) -> JSONValue { JSONWriter.object { $0.member("n", number) } }

    @Test("an event reaches its room, its person or everyone, in the log's order")
    func audiences() async throws {
        try await GatewayHarness.run { harness in
            let inside = try await harness.join()
            let outside = try await harness.connect()
            let stranger = try await harness.connect(GatewayHarness.bob)
            harness.chat.emit([
                Emission(to: .room, "to:room", data(1)), Emission(to: .everyone, "to:all", data(2)),
                Emission(to: .person("ada"), "to:ada", data(3)),
            ])
            harness.chat.emit([Emission(to: .everyone, "last", data(4))])
            func receive(_ client: SocketIOTestClient, _ expected: [String]) async throws {
                for event in expected {
                    guard case .event(let name, _) = try await client.next() else { continue }
                    #expect(name == event)
                }
            }
            try await receive(inside, ["to:room", "to:all", "to:ada", "last"])
            try await receive(outside, ["to:all", "to:ada", "last"])
            try await receive(stranger, ["to:all", "last"])
        }
    }

    @Test("a gateway confirms a change of people only if it follows Rooms' log", arguments: [true, false])
    func fences(followsRooms: Bool) async throws {
        try await GatewayHarness.run(logsAll: followsRooms) { harness in
            if followsRooms {
                try await harness.waitUntilCaughtUp()
            } else {
                #expect(try await !harness.confirms(PeopleChange(roomID: "r", version: 2, joined: ["bob"])))
            }
        }
    }

    @Test("only the log of rooms says who has left a room")
    func otherLog() async throws {
        try await GatewayHarness.run(logsAll: true) { harness in
            let client = try await harness.join()
            let ada = PeopleChange.Leaver(userID: "ada", username: "ada", firstName: nil)
            let change = PeopleChange(roomID: "r", version: 1000, left: [ada])
            harness.chat.emit([Emission(to: .room, "first", data(1))], fact: .peopleChanged(change))
            harness.chat.emit([Emission(to: .room, "second", data(2))])
            #expect(try await client.next() == .event("first", data(1)))
            #expect(try await client.next() == .event("second", data(2)))
            harness.rooms.emit([], fact: .peopleChanged(change), participants: ["bob"])
            while try await client.ask("room:join", #"{"roomId":"r"}"#)["success"]?.bool == true {}
        }
    }

    @Test("a late fence of somebody's removal does not touch the socket with which they have come again")
    func lateFence() async throws {
        try await GatewayHarness.run(logsAll: true) { harness in
            try await harness.waitUntilCaughtUp()
            let client = try await harness.join(recordVersion: 3)
            let ada = PeopleChange.Leaver(userID: "ada", username: "ada", firstName: nil)
            #expect(try await harness.confirms(PeopleChange(roomID: "r", version: 2, left: [ada])))
            harness.chat.emit([Emission(to: .room, "to:room", data(1))])
            #expect(try await client.next() == .event("to:room", data(1)))
            #expect(try await harness.confirms(PeopleChange(roomID: "r", version: 4, left: [ada])))
            harness.chat.emit([Emission(to: .room, "to:room", data(2)), Emission(to: .everyone, "to:all", data(3))])
            #expect(try await client.next() == .event("to:all", data(3)))
        }
    }

    @Test(
        "while a gateway is cut off, a socket that is to get an event of a room is closed instead",
        arguments: [nil, Emission.Composition.badges])
    func cutOff(composition: Emission.Composition?) async throws {
        let bus = FakeBus()
        try await GatewayHarness.run(loops: 1, logsAll: true, bus: bus) { harness in
            try await harness.waitUntilCaughtUp()
            let client = try await harness.connect()
            let badges = try JSONValue(parsing: #"{"roomId":"r","badges":{"messages":0},"hasUnread":false}"#)
            bus.lose { $0.subject == Subject.gatewayAlive }
            bus.setConnected(false)
            var packet: SocketIOTestClient.Packet?
            repeat {
                // Events go on until the lease has ended.
                harness.chat.emit([Emission(to: .person("ada"), "badges", badges, composition: composition)])
                packet = try await client.next()
            } while packet == .event("badges", badges)
            #expect(packet == .other("closed"))
        }
    }

    /// Returns a pacing with an endless pause, unless the loop's idleness ends it.
    private static func pacing(quietPeriod: Duration = .zero) -> BroadcastPacing {
        var pacing = BroadcastPacing()
        (pacing.threshold, pacing.minimumPause, pacing.maximumPause) = (0, .seconds(3600), .seconds(3600))
        pacing.quietPeriod = quietPeriod
        return pacing
    }

    @Test("a large audience gets broadcasts in batches with a pause between; other events do not wait")
    func throttled() async throws {
        try await GatewayHarness.run(loops: 1, pacing: Self.pacing(quietPeriod: .seconds(3600))) { harness in
            let clients = [try await harness.connect(), try await harness.connect()]
            harness.chat.emit([Emission(to: .everyone, "to:all", data(1))])
            for client in clients { #expect(try await client.next() == .event("to:all", data(1))) }
            for number in 2...3 {
                harness.chat.emit([
                    Emission(to: .everyone, "to:all", data(number)),
                    Emission(to: .person("ada"), "to:ada", data(number)),
                ])
            }
            // More than may wait.
            let long = JSONValue(String(repeating: "x", count: 70_000))
            harness.chat.emit([Emission(to: .everyone, "to:all", long)])
            for client in clients {
                for number in 2...3 { #expect(try await client.next() == .event("to:ada", data(number))) }
                for number in 2...3 { #expect(try await client.next() == .event("to:all", data(number))) }
                #expect(try await client.next() == .event("to:all", long))
            }
        }
    }

    @Test("without recent visits the pause ends as soon as the loop is idle")
    func idleWindow() async throws {
        try await GatewayHarness.run(loops: 1, pacing: Self.pacing()) { harness in
            let client = try await harness.connect()
            for number in 0..<50 {
                harness.chat.emit([Emission(to: .everyone, "to:all", data(number))])
                #expect(try await client.next() == .event("to:all", data(number)))
            }
        }
    }

    @Test("requests made during a pause are answered first, and their end ends the pause")
    func inFlight() async throws {
        var pacing = Self.pacing()
        (pacing.earlyEndFactor, pacing.idleEndFactor) = (0, 1e9)
        try await GatewayHarness.run(loops: 1, pacing: pacing) { harness in
            let client = try await harness.connect()
            let asked = Arrivals<BusRequest>()
            harness.chat.on("chat.send") { asked.add($0) }
            for number in 0..<5 {
                // Nothing is in progress, so it waits for nothing.
                harness.chat.emit([Emission(to: .everyone, "to:all", data(number))])
                #expect(try await client.next() == .event("to:all", data(number)))
                try await client.emit("chat:send", "{}", ack: 9)
                let request = try await asked.next()
                harness.chat.emit([Emission(to: .everyone, "to:all", data(-number))])
                harness.chat.emit([Emission(to: .person("ada"), "to:ada", data(number))])
                #expect(try await client.next() == .event("to:ada", data(number)))
                request.reply(Reply().json)
                guard case .ack(9, _) = try await client.next() else {
                    Issue.record("there was no ack")
                    return
                }
                #expect(try await client.next() == .event("to:all", data(-number)))
            }
        }
    }

    @Test("after the pause a large audience gets all events, once and in order")
    func crowdLater() async throws {
        var pacing = BroadcastPacing()
        (pacing.threshold, pacing.minimumPause, pacing.maximumPause) = (0, .milliseconds(1), .milliseconds(1))
        try await GatewayHarness.run(loops: 1, pacing: pacing) { harness in
            let client = try await harness.connect()
            for number in 0..<200 { harness.chat.emit([Emission(to: .everyone, "to:all", data(number))]) }
            for number in 0..<200 { #expect(try await client.next() == .event("to:all", data(number))) }
        }
    }

    @Test("with GLOBAL_SCOPE=participants only they get a room's global events")
    func participants() async throws {
        try await GatewayHarness.run(["--global-scope", "participants"]) { harness in
            let (ada, bob) = (try await harness.connect(), try await harness.connect(GatewayHarness.bob))
            harness.chat.emit([Emission(to: .everyone, "first", data(1))], participants: ["ada"])
            harness.chat.emit([Emission(to: .everyone, "second", data(2))], participants: ["ada", "bob"])
            #expect(try await bob.next() == .event("second", data(2)))
            #expect(try await ada.next() == .event("first", data(1)))
            #expect(try await ada.next() == .event("second", data(2)))
        }
    }

    @Test("with GLOBAL_SCOPE=participants who has left a room gets no global event of an entry from before")
    func formerParticipants() async throws {
        try await GatewayHarness.run(["--global-scope", "participants"], logsAll: true) { harness in
            try await harness.waitUntilCaughtUp()
            let ada = try await harness.connect()
            let leaver = PeopleChange.Leaver(userID: "ada", username: "ada", firstName: nil)
            #expect(try await harness.confirms(PeopleChange(roomID: "r", version: 2, left: [leaver])))
            harness.chat.emit([Emission(to: .everyone, "earlier", data(1))])
            harness.chat.emit([Emission(to: .everyone, "elsewhere", data(2))], room: "s")
            #expect(try await ada.next() == .event("elsewhere", data(2)))
        }
    }

    /// Answers `chat:send` with the position of an entry, and lets the test handle the entry.
    private func answerSends(_ harness: GatewayHarness, _ publish: @escaping @Sendable (LogEntry) -> Void) {
        let echo = Emission(to: .person("ada"), "message:new", data(1))
        harness.chat.on("chat.send") { [chat = harness.chat] request in
            let entry = chat.commit([echo])
            request.reply(Reply(.created, .emptyObject, position: chat.position(of: entry)).json)
            publish(entry)
        }
    }

    @Test("the echo precedes the ack, even if the answer arrives before the entry")
    func echoFirst() async throws {
        try await GatewayHarness.run { harness in
            let client = try await harness.connect()
            answerSends(harness) { [chat = harness.chat] in chat.publish($0) }
            for _ in 1...20 {
                try await client.emit("chat:send", "{}", ack: 9)
                #expect(try await client.next() == .event("message:new", data(1)))
                guard case .ack(9, _) = try await client.next() else {
                    Issue.record("there was no ack")
                    return
                }
            }
        }
    }

    @Test("an entry that the bus lost is fetched so that the ack can be sent")
    func fetched() async throws {
        try await GatewayHarness.run { harness in
            let client = try await harness.connect()
            answerSends(harness) { _ in }
            for _ in 1...3 {
                try await client.emit("chat:send", "{}", ack: 9)
                #expect(try await client.next() == .event("message:new", data(1)))
                #expect(try await client.next() != .event("message:new", data(1)))
            }
            #expect(!harness.log.text.contains("before its event"))
        }
    }

    @Test("entries that arrive out of order, or twice, are sent once and in order")
    func outOfOrder() async throws {
        try await GatewayHarness.run { harness in
            let client = try await harness.connect()
            let entries = (1...4).map { harness.chat.commit([Emission(to: .everyone, "n", data($0))]) }
            for index in [1, 0, 0, 3, 1, 2] { harness.chat.publish(entries[index]) }
            harness.chat.emit([Emission(to: .everyone, "n", data(5))])
            for number in 1...5 { #expect(try await client.next() == .event("n", data(number))) }
        }
    }

    @Test("lost entries are fetched when the service announces its position")
    func announced() async throws {
        try await GatewayHarness.run { harness in
            let client = try await harness.connect()
            for number in 1...3 { _ = harness.chat.commit([Emission(to: .everyone, "n", data(number))]) }
            harness.chat.announce()
            for number in 1...3 { #expect(try await client.next() == .event("n", data(number))) }
        }
    }

    @Test("a restored database closes sockets, and answers wait for their echo again")
    func restored() async throws {
        try await GatewayHarness.run(loops: 1) { harness in
            let client = try await harness.connect()
            for number in 1...5 { harness.chat.emit([Emission(to: .everyone, "n", data(number))]) }
            for number in 1...5 { #expect(try await client.next() == .event("n", data(number))) }
            harness.chat.restore(forgetting: 3)
            #expect(try await client.receive() == "closed", "its events belong to a history that was rolled back")
            answerSends(harness) { _ in }
            let again = try await harness.connect()
            try await again.emit("chat:send", "{}", ack: 9)
            #expect(try await again.next() == .event("message:new", data(1)))
            guard case .ack(9, _) = try await again.next() else {
                Issue.record("there was no ack")
                return
            }
        }
    }

    @Test("an answer that waits for its event does not reach a socket closed because the log was restored")
    func restoredMeanwhile() async throws {
        try await GatewayHarness.run(loops: 1) { harness in
            let asked = harness.chat.hold("chat.send")
            let client = try await harness.connect()
            harness.chat.emit([Emission(to: .everyone, "n", data(1))])
            #expect(try await client.next() == .event("n", data(1)))
            try await client.emit("chat:send", "{}", ack: 9)
            // Of an entry that is in no backup.
            try await asked.next().reply(Reply(position: EntryPosition(log: "chat", seq: 2)).json)
            harness.chat.restore(forgetting: 0, adding: [Emission(to: .everyone, "n", data(2))])
            #expect(try await client.receive() == "closed")
        }
    }

    @Test("an answer whose entry was written before the gateway began to follow does not wait")
    func beforeFollowing() async throws {
        try await GatewayHarness.run(withChat: false) { harness in
            for number in 1...3 { _ = harness.chat.commit([Emission(to: .everyone, "n", data(number))]) }
            try harness.chat.bringUp()
            harness.chat.on("chat.send", reply: Reply(position: EntryPosition(log: "chat", seq: 3)))
            // One that connects before the log is followed is closed when it is.
            var client = try await harness.connect()
            while true {
                harness.chat.emit([Emission(to: .everyone, "followed", data(4))])
                if case .event = try await client.next() { break }
                client = try await harness.connect()
            }
            try await client.emit("chat:send", "{}", ack: 77)
            while true {
                guard case .ack(77, let answer) = try await client.next() else { continue }
                #expect(answer["success"]?.bool == true)
                break
            }
            #expect(!harness.log.text.contains("before its event"))
        }
    }

    @Test("an answer waits for its event no longer than the request's time")
    func overdue() async throws {
        try await GatewayHarness.run(["--request-timeout", "1s"]) { harness in
            let client = try await harness.connect()
            // An entry that nobody has, so that it cannot be fetched.
            harness.chat.on("chat.send", reply: Reply(position: EntryPosition(log: "chat", seq: 1_000_000)))
            #expect(try await client.ask("chat:send", "{}")["success"]?.bool == true)
            let line = try #require(harness.log.text.split(separator: "\n").first { $0.contains("before its event") })
            #expect(try #require(try JSONValue(parsing: String(line))["ms"]?.int) <= 1000)
        }
    }

    @Test("a new room has others' contributions at zero, without a request")
    func newRoom() async throws {
        try await GatewayHarness.run { harness in
            let client = try await harness.connect()
            let room = GatewayHarness.base("r")
            harness.chat.emit([Emission(to: .person("ada"), "room:created", room, composition: .room)])
            guard case .event("room:created", let created) = try await client.next() else {
                Issue.record("something else came first")
                return
            }
            #expect(created["room"]?["id"]?.string == "r" && created["room"]?["badges"]?["messages"]?.int == 0)
            #expect(created["room"]?["name"]?.isNull == true)
        }
    }

    @Test("composed events reach each person in the log's order, as that person sees them")
    func composed() async throws {
        try await GatewayHarness.run { harness in
            let client = try await harness.connect()
            let contributions = harness.chat.hold("chat.contribute")
            let given = try JSONValue(parsing: #"{"roomId":"r","badges":{}}"#)
            let emission = Emission(to: .person("ada"), "room:badges", given, composition: .badges)
            harness.chat.emit([emission, emission])
            for badge in [3, 4] {
                let request = try await contributions.next()
                let values = #"{"rooms":[[null,null,\#(badge)]]}"#
                request.reply(Reply(.ok, JSONValue(trusted: Array(values.utf8))).json)
            }
            for badge in [3, 4] {
                let badges = try JSONValue(parsing: #"{"roomId":"r","badges":{"messages":\#(badge)},"hasUnread":true}"#)
                #expect(try await client.next() == .event("room:badges", badges))
            }
        }
    }

    @Test("badges that the service supplies are not requested again")
    func givenBadges() async throws {
        try await GatewayHarness.run { harness in
            harness.contribute(badge: 9)
            let client = try await harness.connect()
            let given = try JSONValue(parsing: #"{"roomId":"r","badges":{"messages":0}}"#)
            harness.chat.emit([Emission(to: .person("ada"), "room:badges", given, composition: .badges)])
            let badges = try JSONValue(parsing: #"{"roomId":"r","badges":{"messages":0},"hasUnread":false}"#)
            #expect(try await client.next() == .event("room:badges", badges))
        }
    }
}
