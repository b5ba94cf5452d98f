import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorTestSupport
import Synchronization
import Testing

@Suite("Sockets through the gateway", .timeLimit(.minutes(1)))
struct SocketTests {
    @Test("a valid token in the payload, the query or the header lets a client in, whatever the other places have")
    func anyPlace() async throws {
        try await GatewayHarness.run { harness in
            let good = harness.token()
            for (payload, query, header) in [
                (good, "stale", "Bearer stale"), ("stale", good, "Bearer stale"), ("stale", "stale", "Bearer  \(good)"),
                ("Bearer \(good)", nil, nil), (nil, "stale", "bearer \(good)"),
            ] as [(String?, String?, String?)] {
                let client = try await harness.openSocket(
                    query: query.map { "&token=\($0)" } ?? "", headers: header.map { ["Authorization: \($0)"] } ?? [])
                try await client.send("40" + (payload.map { "{\"token\":\"\($0)\"}" } ?? ""))
                #expect(try await client.receive().hasPrefix("40{"))
            }
        }
    }

    @Test("a bad token is refused, and another CONNECT on the same engine is accepted")
    func refused() async throws {
        try await GatewayHarness.run { harness in
            let client = try await harness.openSocket()
            let refusal = #"44{"message":"unauthorized","data":{"code":"unauthenticated"}}"#
            for auth in ["", "{}", #"{"token":"x"}"#, #"{"token":1}"#] {
                try await client.send("40\(auth)")
                #expect(try await client.receive() == refusal)
            }
            try await client.send("40{\"token\":\"\(harness.token())\"}")
            #expect(try await client.receive().hasPrefix("40{"))
        }
    }

    @Test("the token may be in the query, too")
    func queryToken() async throws {
        try await GatewayHarness.run { harness in
            let opened = try await harness.request(
                "GET", "/socket.io/?EIO=4&transport=polling&token=\(harness.token())", as: nil)
            let sid = try #require(JSONValue(parsing: String(opened.body.dropFirst()))["sid"]?.string)
            let target = "/socket.io/?EIO=4&transport=polling&sid=\(sid)"
            #expect(try await harness.request("POST", target, as: nil, body: "40").status == 200)
            #expect(try await harness.request("GET", target, as: nil).body.hasPrefix("40{"))
        }
    }

    @Test("an expired token closes the transport, without a packet that would keep clients from reconnecting")
    func expiry() async throws {
        try await GatewayHarness.run { harness in
            harness.clock.advance(by: .milliseconds(900))
            let client = try await harness.connect(lifetime: .milliseconds(100))
            #expect(try await client.receive() == "closed")
        }
    }

    @Test("an ack has the members that the event declares, beside success")
    func ack() async throws {
        try await GatewayHarness.run { harness in
            let client = try await harness.connect()
            let message = JSONValue(trusted: Array(#"{"id":"m1","text":"hi"}"#.utf8))
            harness.chat.on("chat.send") { request in
                #expect(request.data.text == #"{"roomId":"r","text":"hi"}"#)
                #expect(request.context.caller.flatMap(Caller.init) == GatewayHarness.ada)
                #expect(request.context.key == "r")
                request.reply(Reply(.created, message).json)
            }
            #expect(
                try await client.ask("chat:send", #"{"roomId":"r","text":"hi"}"#).text
                    == #"{"success":true,"messageId":"m1","message":{"id":"m1","text":"hi"}}"#)
            harness.chat.on("chat.send", reply: Reply(.ok, message, isDuplicate: true))
            #expect(try await client.ask("chat:send", "{}")["duplicate"]?.bool == true)
            harness.chat.on("chat.read", reply: Reply(.ok, JSONValue(trusted: Array(#"{"readCount":2}"#.utf8))))
            #expect(try await client.ask("chat:read", "{}").text == #"{"success":true,"readCount":2}"#)
            harness.chat.on("chat.read", reply: Reply(.noContent, .null))
            #expect(try await client.ask("chat:read", "{}").text == #"{"success":true}"#)
        }
    }

    @Test("a failure is in the ack, with whether to try again; without an ack it is an event; both are logged")
    func failures() async throws {
        try await GatewayHarness.run { harness in
            let client = try await harness.connect()
            harness.chat.on("chat.send", error: .roomNotFound)
            let error = #""error":{"code":"room_not_found","message":"There is no such room.""#
            #expect(
                try await client.ask("chat:send", "{}").text == #"{"success":false,"# + error + #","retryable":false}}"#
            )
            try await client.emit("chat:send", "{}")
            let packet = try await client.receive()
            #expect(packet == #"42["request:error",{"event":"chat:send","# + error + "}}]")
            let logged = harness.log.lines.filter { $0.contains("refused a client") && $0.contains("chat:send") }
            #expect(logged.count == 2 && logged.allSatisfy { $0.contains(#""code":"room_not_found""#) })
        }
    }

    @Test("an event of an unavailable service fails at once, as retryable")
    func away() async throws {
        try await GatewayHarness.run { harness in
            let client = try await harness.connect()
            harness.chat.takeDown()
            let answer = try await client.ask("chat:send", "{}")
            #expect(answer["error"]?["code"]?.string == "service_unavailable")
            #expect(answer["error"]?["retryable"]?.bool == true)
        }
    }

    @Test("an unknown event, or a payload that is not an object, is malformed; the socket goes on")
    func malformed() async throws {
        try await GatewayHarness.run { harness in
            let client = try await harness.connect()
            for (event, payload) in [
                ("nobody:knows", "{}"), ("chat:send", "1"), ("room:join", "[]"), ("room:leave", "{\"roomId\":3}"),
            ] {
                #expect(try await client.ask(event, payload)["error"]?["code"]?.string == "malformed_request")
            }
            try await client.send(#"425["chat:send"]"#)
            guard case .ack(5, let bare) = try await client.next() else {
                Issue.record("there was no answer")
                return
            }
            #expect(bare["error"]?["code"]?.string == "malformed_request")
            #expect(try await client.ask("room:join", "{}")["error"]?["code"]?.string == "invalid_field")
            harness.chat.on("chat.send", reply: Reply(.ok, .emptyObject))
            #expect(try await client.ask("chat:send", "{}")["success"]?.bool == true)
        }
    }

    @Test("an event that is nested too deeply is malformed, with an ack and without; the socket goes on")
    func tooDeep() async throws {
        try await GatewayHarness.run { harness in
            let client = try await harness.connect()
            let nested = "{\"a\":" + String(repeating: "[", count: 600) + String(repeating: "]", count: 600) + "}"
            let answer = try await client.ask("chat:send", nested)
            #expect(answer["success"]?.bool == false)
            #expect(answer["error"]?["code"]?.string == "malformed_request")
            try await client.emit("chat:send", nested)
            guard case .event("request:error", let received) = try await client.next() else {
                Issue.record("there was no request:error event")
                return
            }
            #expect(
                received["event"]?.string == "chat:send" && received["error"]?["code"]?.string == "malformed_request")
            harness.chat.on("chat.send", reply: Reply(.ok, .emptyObject))
            #expect(try await client.ask("chat:send", "{}")["success"]?.bool == true)
        }
    }

    @Test("sockets are closed, so that clients reconnect, until each required service has announced itself")
    func pending() async throws {
        try await GatewayHarness.run(["--required-services", "rooms,chat,later"]) { harness in
            let client = try await harness.openSocket()
            try await client.send("40{\"token\":\"\(harness.token())\"}")
            #expect(try await client.receive() == "closed")
        }
    }

    @Test("a join waits for the events sent before it")
    func joinAfterSends() async throws {
        try await GatewayHarness.run { harness in
            harness.serveRoom()
            let asked = harness.chat.hold("chat.send")
            let client = try await harness.connect()
            try await client.emit("chat:send", "{}", ack: 1)
            try await client.emit("room:join", #"{"roomId":"r"}"#, ack: 2)
            let position = harness.chat.emit([Emission(to: .room, "message:new", .emptyObject)])
            try await asked.next().reply(Reply(position: position).json)
            var acks: [Int] = []
            while acks.count < 2 { if case .ack(let id, _) = try await client.next() { acks.append(id) } }
            #expect(acks == [1, 2])
        }
    }

    @Test("an event waits for the join sent before it, even while that waits itself")
    func sendAfterJoin() async throws {
        try await GatewayHarness.run(loops: 1) { harness in
            harness.serveRoom()
            let asked = harness.chat.hold("chat.send")
            harness.chat.on("chat.read", reply: Reply(.noContent, .null))
            let client = try await harness.connect()
            try await client.emit("chat:send", "{}", ack: 1)
            try await client.emit("room:join", #"{"roomId":"r"}"#, ack: 2)
            try await client.emit("chat:read", "{}", ack: 3)
            // The loop has seen all three by the time that it answers this.
            _ = try await harness.request("GET", "/healthz", as: nil)
            try await asked.next().reply(Reply().json)
            var acks: [Int] = []
            while acks.count < 3 { if case .ack(let id, _) = try await client.next() { acks.append(id) } }
            #expect(acks == [1, 2, 3])
        }
    }

    @Test(
        "without key-based routing, a socket's next event waits for the answer to the last")
    func oneAtATime() async throws {
        try await GatewayHarness.run(loops: 1, bus: FakeBus(hasKeyAffinity: false)) { harness in
            let isAnswered = Mutex(false)
            let asked = harness.chat.hold("chat.send")
            harness.chat.on("chat.read") { request in
                #expect(isAnswered.withLock { $0 })
                request.reply(Reply().json)
            }
            let client = try await harness.connect()
            try await client.emit("chat:send", "{}", ack: 1)
            try await client.emit("chat:read", "{}", ack: 2)
            let first = try await asked.next()
            // The loop has seen both by the time that it answers this.
            _ = try await harness.request("GET", "/healthz", as: nil)
            isAnswered.withLock { $0 = true }
            first.reply(Reply().json)
            var acks: [Int] = []
            while acks.count < 2 { if case .ack(let id, _) = try await client.next() { acks.append(id) } }
            #expect(acks == [1, 2])
        }
    }

    @Test("thousands of events that wait for the first answer and then fail are answered in order")
    func waitingFailures() async throws {
        try await GatewayHarness.run(loops: 1, bus: FakeBus(hasKeyAffinity: false)) { harness in
            let asked = harness.chat.hold("chat.send")
            let client = try await harness.connect()
            try await client.emit("chat:send", "{}", ack: 0)
            for id in 1...3000 { try await client.emit("nobody:knows", "{}", ack: id) }
            let first = try await asked.next()
            // The loop has seen all of them by the time that it answers this.
            _ = try await harness.request("GET", "/healthz", as: nil)
            first.reply(Reply().json)
            for expected in 0...3000 {
                guard case .ack(expected, let answer) = try await client.next() else {
                    Issue.record("\(expected) was not answered in its turn")
                    return
                }
                #expect(answer["success"]?.bool == (expected == 0))
            }
        }
    }

    @Test("events count against the limit that they name")
    func limits() async throws {
        try await GatewayHarness.run { harness in
            harness.chat.on("chat.rare", reply: Reply())
            let client = try await harness.connect()
            #expect(try await client.ask("chat:rare", "{}")["success"]?.bool == true)
            #expect(try await client.ask("chat:rare", "{}")["error"]?["code"]?.string == "rate_limited")
            let other = try await harness.connect(GatewayHarness.bob)
            #expect(try await other.ask("chat:rare", "{}")["success"]?.bool == true)
        }
    }

    @Test("joining answers with the Room, notifies services before clients, and leaves the other rooms")
    func join() async throws {
        try await GatewayHarness.run { harness in
            harness.serveRoom()
            let received = harness.chat.hold("chat.presence")
            let (ada, bob) = (try await harness.connect(), try await harness.connect(GatewayHarness.bob))
            func answerPresence(_ expected: String) async throws {
                let request = try await received.next()
                #expect(request.data["rooms"]?.text == expected, "isOpen \(request.data["isOpen"]?.text ?? "")")
                request.reply(Reply().json)
            }
            try await ada.emit("room:join", #"{"roomId":"1"}"#, ack: 1)
            try await answerPresence(#"[{"roomId":"1","userId":"ada"}]"#)
            var packets = [try await ada.next(), try await ada.next()]
            #expect(packets.contains(.event("room:presence", try presence("1", "ada", true))))
            packets.removeAll { if case .event = $0 { true } else { false } }
            guard case .ack(1, let answer)? = packets.first else {
                Issue.record("\(packets)")
                return
            }
            #expect(answer["room"]?["id"]?.string == "1" && answer["room"]?["isActive"]?.bool == true)

            try await bob.emit("room:join", #"{"roomId":"1"}"#)
            try await answerPresence(#"[{"roomId":"1","userId":"bob"}]"#)
            for client in [ada, bob] {
                #expect(try await client.next() == .event("room:presence", try presence("1", "bob", true)))
            }
            try await ada.emit("room:join", #"{"roomId":"2"}"#)
            try await answerPresence(#"[{"roomId":"2","userId":"ada"}]"#)
            try await answerPresence(#"[{"roomId":"1","userId":"ada"}]"#)
            #expect(try await bob.next() == .event("room:presence", try presence("1", "ada", false)))
        }
    }

    /// Joins a room. While services are notified, the rooms service changes, and an event is sent in the room.
    ///
    /// - Returns: the ack.
    private func joinDuringEvent(
        _ settings: [String] = [], changing change: @escaping (GatewayHarness) -> Void
    ) async throws -> JSONValue {
        let acks = Arrivals<JSONValue>()
        try await GatewayHarness.run(settings, logsAll: true) { harness in
            harness.serveRoom()
            let received = harness.chat.hold("chat.presence")
            let client = try await harness.connect()
            try await client.emit("room:join", #"{"roomId":"r"}"#, ack: 1)
            let notification = try await received.next()
            change(harness)
            harness.rooms.emit([Emission(to: .room, "room:updated", .emptyObject)])
            while try await client.next() != .event("room:updated", .emptyObject) {}
            notification.reply(Reply().json)
            acks.add(try await client.ack(1))
        }
        return try await acks.next()
    }

    @Test("the Room in the ack of a join is not older than the events before it")
    func joinDuringChange() async throws {
        let ack = try await joinDuringEvent { harness in
            harness.rooms.on("rooms.get", reply: Reply(.ok, GatewayHarness.base("r", name: "new")))
        }
        #expect(ack["room"]?["name"]?.string == "new")
    }

    @Test("a join that has taken effect succeeds although the rooms service is down by then")
    func joinWhileRoomsGoes() async throws {
        let ack = try await joinDuringEvent { $0.rooms.on("rooms.get", error: .unavailable("Rooms")) }
        #expect(ack["success"]?.bool == true && ack["room"]?["id"]?.string == "r")
    }

    @Test("a join that has taken effect succeeds although the rooms service hangs by then")
    func joinWhileRoomsHangs() async throws {
        let unanswered = Arrivals<BusRequest>()
        let ack = try await joinDuringEvent(["--request-timeout", "1s"]) { harness in
            harness.rooms.on("rooms.get") { unanswered.add($0) }
        }
        #expect(ack["success"]?.bool == true && ack["room"]?["id"]?.string == "r")
    }

    @Test("an event that is sent while the Room of an ack is composed is in it")
    func joinDuringComposition() async throws {
        try await GatewayHarness.run(logsAll: true) { harness in
            harness.serveRoom()
            let asked = harness.chat.hold("chat.contribute")
            let client = try await harness.connect()
            try await client.emit("room:join", #"{"roomId":"r"}"#, ack: 1)
            let first = try await asked.next()
            harness.rooms.on("rooms.get") { request in
                request.reply(Reply(.ok, GatewayHarness.base("r", name: "new")).json)
            }
            harness.rooms.emit([Emission(to: .room, "room:updated", .emptyObject)])
            while try await client.next() != .event("room:updated", .emptyObject) {}
            let reply = Reply(.ok, JSONWriter.object { $0.member("rooms", array: { $0.value(JSONValue.null) }) })
            first.reply(reply.json)
            try await asked.next().reply(reply.json)
            #expect(try await client.ack(1)["room"]?["name"]?.string == "new")
        }
    }

    @Test("a join asks for the room once, whatever happens in other rooms")
    func joinBesideOthers() async throws {
        let asked = Atomic(0)
        try await GatewayHarness.run(logsAll: true) { harness in
            harness.serveRoom()
            harness.rooms.on("rooms.get") { request in
                asked.add(1, ordering: .relaxed)
                request.reply(Reply(.ok, GatewayHarness.base("r", name: "old")).json)
            }
            let received = harness.chat.hold("chat.presence")
            let client = try await harness.connect()
            try await client.emit("room:join", #"{"roomId":"r"}"#, ack: 1)
            let notification = try await received.next()
            harness.rooms.emit([Emission(to: .person("ada"), "room:new", .emptyObject)], room: "other")
            harness.rooms.emit([Emission(to: .person("ada"), "marker", .emptyObject)], room: "r")
            while try await client.next() != .event("marker", .emptyObject) {}
            notification.reply(Reply().json)
            #expect(try await client.ack(1)["room"]?["name"]?.string == "old")
            #expect(asked.load(ordering: .relaxed) == 1)
        }
    }

    @Test("a socket that closes leaves its rooms")
    func gone() async throws {
        try await GatewayHarness.run { harness in
            let bob = try await harness.join(GatewayHarness.bob)
            var ada: SocketIOTestClient? = try await harness.join()
            #expect(try await bob.next() == .event("room:presence", try presence("r", "ada", true)))
            try await ada?.send("1")
            #expect(try await bob.next() == .event("room:presence", try presence("r", "ada", false)))
            ada = nil
        }
    }

    @Test("typing reaches the others in the room only, and ends with the message")
    func typing() async throws {
        try await GatewayHarness.run { harness in
            let (ada, bob) = (try await harness.join(), try await harness.join(GatewayHarness.bob))
            #expect(try await ada.next() == .event("room:presence", try presence("r", "bob", true)))
            let typing = #"{"roomId":"r","isTyping":true}"#
            for _ in 1...3 { try await ada.emit("message:typing", typing) }
            #expect(
                try await bob.next()
                    == .event("message:typing", JSONValue(parsing: #"{"roomId":"r","userId":"ada","isTyping":true}"#)))
            harness.chat.emit([Emission(to: .room, "message:new", .emptyObject, endsTypingOf: "ada")])
            let ended = try JSONValue(parsing: #"{"roomId":"r","userId":"ada","isTyping":false}"#)
            #expect(try await bob.next() == .event("message:typing", ended))
            #expect(try await bob.next() == .event("message:new", .emptyObject))
            #expect(try await ada.next() == .event("message:new", .emptyObject))
        }
    }

    @Test("leaving a room that is not joined succeeds while the rooms service is down")
    func leavesWithoutRooms() async throws {
        try await GatewayHarness.run { harness in
            harness.rooms.on("rooms.membership", error: .unavailable("Rooms"))
            let client = try await harness.connect()
            #expect(try await client.ask("room:leave", #"{"roomId":"x"}"#)["success"]?.bool == true)
        }
    }

    @Test("a room of others cannot be distinguished from one that does not exist")
    func strangers() async throws {
        try await GatewayHarness.run { harness in
            harness.rooms.on("rooms.get", error: .roomNotFound)
            harness.rooms.on("rooms.membership", error: .roomNotFound)
            let client = try await harness.connect()
            for event in ["room:join", "room:leave", "message:typing"] {
                let answer = try await client.ask(event, #"{"roomId":"x","isTyping":true}"#)
                #expect(answer["error"]?["code"]?.string == "room_not_found")
            }
            harness.serveRoom()
            #expect(try await client.ask("room:leave", #"{"roomId":"r"}"#)["success"]?.bool == true)
            let stranger = try await harness.connect(Caller(id: "eve", username: "eve", firstName: nil))
            let answer = try await stranger.ask("room:leave", #"{"roomId":"r"}"#)
            #expect(answer["error"]?["code"]?.string == "room_not_found")
        }
    }

    private func presence(_ room: String, _ user: String, _ isPresent: Bool) throws -> JSONValue {
        try JSONValue(parsing: #"{"roomId":"\#(room)","userId":"\#(user)","isPresent":\#(isPresent)}"#)
    }
}
