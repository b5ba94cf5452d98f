import ParlorContracts
import ParlorJSON
import ParlorTestSupport
import Testing

@testable import ParlorGatewayCatalog
@testable import ParlorGatewayEdge
@testable import ParlorGatewayLimits

@Suite("Limits at the gateway", .timeLimit(.minutes(1)))
struct LimitTests {
    private static func payload(_ count: Int) -> String { #"{"text":"\#(String(repeating: "x", count: count))"}"# }
    private static let longBody = #"{"name":"\#(String(repeating: "x", count: 20_000))"}"#

    private func expect(
        _ status: Int, _ harness: GatewayHarness, _ method: String, _ target: String,
        as caller: Caller? = GatewayHarness.ada,
        body: String = "", at location: SourceLocation = #_sourceLocation
    ) async throws {
        let answer = try await harness.request(method, target, as: caller, body: body)
        #expect(answer.status == status, sourceLocation: location)
    }

    @Test("a route or event without a named limit is counted all the same")
    func standard() {
        let manifest = Manifest(
            service: "polls",
            routes: [
                Route("GET", "/api/polls", "polls.list"), Route("POST", "/api/polls", "polls.make"),
                Route("PUT", "/api/polls", "polls.put", limits: ["unheard-of"]),
                Route("DELETE", "/api/polls", "polls.clear", limits: ["guesses"]),
                Route("POST", "/api/votes", "polls.vote", limits: ["votes"]),
            ],
            socketEvents: [SocketEvent("poll:vote", "polls.vote")],
            limits: [
                RateLimit("votes", perPerson: 1, perAddress: 1, seconds: 1),
                RateLimit("guesses", .failures, perPerson: 1, perAddress: 1, seconds: 1),
                // The gateway's own are not a service's to change.
                RateLimit("reads", perPerson: 1_000_000, perAddress: 1_000_000, seconds: 1),
            ])
        let catalog = Catalog(required: []).adding(manifest)
        let limits = manifest.routes.map { route -> [RateLimit] in
            let path = route.path.split(separator: "/").map(String.init)
            guard case .route(let offered, _) = catalog.routes.match(route.method, path) else { return [] }
            return offered.limits
        }
        let names = limits.map { $0.map(\.name) }
        #expect(names == [["reads"], ["writes"], ["writes"], ["guesses", "writes"], ["votes"]])
        #expect(catalog.socketEvents["poll:vote"]?.limits.map(\.name) == ["writes"])
        #expect(limits.first?.first?.perPerson == 300)
    }

    @Test("an operator sets the rate of a limit that a plugin declares")
    func serviceRates() async throws {
        try await GatewayHarness.run(["--service-rates", "rare=2/1h,100/1h;other=1/1h,1/1h"]) { harness in
            harness.chat.on("chat.rare", reply: Reply())
            let client = try await harness.connect()
            for isAllowed in [true, true, false] {
                #expect(try await client.ask("chat:rare", "{}")["success"]?.bool == isAllowed)
            }
        }
    }

    @Test("a person's reads and writes are limited over all routes")
    func readsAndWrites() async throws {
        try await GatewayHarness.run(["--rate-reads", "2/1h,1000/1h", "--rate-writes", "1/1h,1000/1h"]) { harness in
            harness.chat.on("chat.list", reply: Reply())
            harness.rooms.on("rooms.remove", reply: Reply(.noContent))
            for status in [200, 200, 429] {
                let answer = try await harness.request("GET", "/api/chat")
                #expect(answer.status == status)
                if status == 429 { #expect(answer.header("Retry-After") != nil) }
            }
            for status in [204, 429] {
                try await expect(status, harness, "DELETE", "/api/rooms/r/things/1")
            }
            try await expect(200, harness, "GET", "/api/chat", as: GatewayHarness.bob)
            harness.chat.on("chat.read", reply: Reply())
            let client = try await harness.connect()
            #expect(try await client.ask("chat:read", "{}")["error"]?["code"]?.string == "rate_limited")
            let metrics = try await harness.request("GET", "/metrics", as: nil).body
            #expect(metrics.contains("parlor_rate_limited_total 3\n"))
            #expect(metrics.contains("parlor_errors_total{code=\"rate_limited\"} 3\n"))
        }
    }

    @Test("a large body of a person over their limit is refused before it arrives, and the connection ends")
    func largeBodyOverLimit() async throws {
        try await GatewayHarness.run(["--rate-writes", "1/1h,1000/1h"]) { harness in
            harness.rooms.on("rooms.remove", reply: Reply(.noContent))
            try await expect(204, harness, "DELETE", "/api/rooms/r/things/1")
            let answer = try await harness.request("PUT", "/api/rooms/r/name", body: Self.longBody)
            #expect(answer.status == 429 && answer.header("Connection") == "close")
        }
    }

    @Test("events being processed count as buffered until they are answered, also after their socket has gone")
    func eventsInFlight() async throws {
        try await GatewayHarness.run { harness in
            let requests = harness.chat.hold("chat.send")
            func buffered() async throws -> Int {
                let metrics = try await harness.request("GET", "/metrics", as: nil).body
                let line = metrics.split(separator: "\n").first { $0.hasPrefix("parlor_buffered_bytes ") }
                return line?.split(separator: " ").last.flatMap { Double($0) }.map { Int($0) } ?? -1
            }
            let client = try await harness.connect()
            let text = Self.payload(20_000)
            for _ in 0..<5 { try await client.emit("chat:send", text, ack: 1) }
            let held = try await requests.next(5)
            #expect(try await buffered() >= 100_000)
            for request in held { request.reply(Reply().json) }
            for _ in held { _ = try await client.next() }
            #expect(try await buffered() == 0)
            try await client.emit("chat:send", text)
            let last = try await requests.next()
            #expect(try await buffered() >= 20_000)
            try await client.send("41")
            try await client.send("1")
            while try await client.receive() != "closed" {}
            #expect(try await buffered() >= 20_000)
            last.reply(Reply().json)
            while try await buffered() > 0 {}
        }
    }

    @Test("an event over a person's buffer limit is refused as retryable, and its socket goes on")
    func eventsWithoutRoom() async throws {
        try await GatewayHarness.run(["--max-buffered-bytes", "400000"]) { harness in
            let requests = harness.chat.hold("chat.send")
            let client = try await harness.connect()
            let text = Self.payload(60_000)
            func ack() async throws -> (Int, JSONValue) {
                let packet = try await client.next()
                guard case .ack(let id, let answer) = packet else { throw WireError.unexpected("\(packet)") }
                return (id, answer)
            }
            try await client.emit("chat:send", text, ack: 1)
            let held = try await requests.next()
            try await client.emit("chat:send", text, ack: 2)
            let (refused, refusal) = try await ack()
            #expect(refused == 2 && refusal["error"]?["code"]?.string == "rate_limited")
            #expect(refusal["error"]?["retryable"]?.bool == true)
            held.reply(Reply().json)
            let (first, success) = try await ack()
            #expect(first == 1 && success["success"]?.bool == true)
            try await client.emit("chat:send", text, ack: 3)
            try await requests.next().reply(Reply().json)
            let (last, _) = try await ack()
            #expect(last == 3)
        }
    }

    @Test("a large event that is undeclared, or expected to be short, is refused by its name")
    func largeEventOfGateway() async throws {
        try await GatewayHarness.run(["--rate-joins", "2/1h,100/1h"]) { harness in
            let client = try await harness.connect()
            let rest = String(repeating: "x", count: 50_000)
            func code(_ event: String) async throws -> String? {
                try await client.ask(event, "{\"roomId\":\"\(rest)")["error"]?["code"]?.string
            }
            #expect(try await code("no:such") == "malformed_request")
            #expect(try await code("message:typing") == "payload_too_large")
            #expect(try await code("room:join") == "payload_too_large")
            #expect(try await code("room:leave") == "payload_too_large")
            // The refused events have counted.
            #expect(try await code("room:join") == "rate_limited")
        }
    }

    @Test("a large event of a person over a limit is refused by its name, and not read")
    func largeEventOverLimit() async throws {
        try await GatewayHarness.run(["--rate-unknown", "1/1h,100/1h", "--rate-joins", "1/1h,100/1h"]) { harness in
            harness.chat.on("chat.rare", reply: Reply())
            let client = try await harness.connect()
            let rest = String(repeating: "x", count: 50_000)
            for event in ["chat:rare", "no:such"] { _ = try await client.ask(event, "{}") }
            for event in ["chat:rare", "no:such"] {
                // It is not JSON, for which the socket of a permitted sender is closed.
                #expect(try await client.ask(event, "{\"text\":\"\(rest)")["error"]?["code"]?.string == "rate_limited")
            }
            try await client.emit("chat:rare", "{\"text\":\"\(rest)\"}")
            #expect(
                try await client.receive().hasPrefix("42[\"request:error\",{\"event\":\"chat:rare\""))
            try await client.emit("chat:read", "{\"text\":\"\(rest)")
            #expect(try await client.receive() == "closed")
        }
    }

    @Test("a person's refused requests do not count for others behind the same address")
    func sameAddress() async throws {
        try await GatewayHarness.run(["--rate-reads", "1/1h,3/1h"]) { harness in
            harness.chat.on("chat.list", reply: Reply())
            for status in [200, 429, 429, 429, 429] {
                try await expect(status, harness, "GET", "/api/chat")
            }
            try await expect(200, harness, "GET", "/api/chat", as: GatewayHarness.bob)
        }
    }

    @Test("an invalid token counts for its address, and so does an unknown route")
    func nobody() async throws {
        try await GatewayHarness.run(["--rate-reads", "100/1h,2/1h", "--rate-unknown", "100/1h,3/1h"]) { harness in
            for status in [401, 401, 429] {
                try await expect(status, harness, "GET", "/api/chat", as: nil)
            }
            for (target, status) in [("/api/none", 404), ("/%00", 400), ("/none", 404), ("/api/none", 429)] {
                try await expect(status, harness, "GET", target, as: nil)
            }
            try await expect(429, harness, "POST", "/api/chat", as: nil, body: "{}")
            try await expect(200, harness, "GET", "/healthz", as: nil)
        }
    }

    @Test("an unknown or unacceptable event counts as an event")
    func unknownEvents() async throws {
        try await GatewayHarness.run(["--rate-unknown", "2/1h,100/1h"]) { harness in
            let client = try await harness.connect()
            let deep = String(repeating: "[", count: 600) + String(repeating: "]", count: 600)
            var codes: [String?] = []
            for payload in ["{}", deep, "{}"] {
                codes.append(try await client.ask("no:such", payload)["error"]?["code"]?.string)
            }
            #expect(codes == ["malformed_request", "malformed_request", "rate_limited"])
        }
    }

    @Test("a body is not parsed before the limit, the token and its length have been checked")
    func beforeTheBody() async throws {
        try await GatewayHarness.run(["--rate-writes", "1/1h,4/1h"]) { harness in
            let target = "/api/rooms/r/name"
            try await expect(401, harness, "PUT", target, as: nil, body: "no JSON")
            try await expect(400, harness, "PUT", target, body: "no JSON")
            try await expect(429, harness, "PUT", target, body: "no JSON")
            // The route needs no login: it takes less, and is not asked what it is.
            let long = try await harness.request("POST", "/api/open", as: nil, body: Self.longBody)
            #expect(try long.status == 413 && long.errorCode == "payload_too_large")
            #expect(harness.log.text.contains(#""target":"POST /api/open","code":"payload_too_large""#))
            harness.rooms.on("rooms.rename", reply: Reply(.ok, GatewayHarness.base("r")))
            harness.contribute(badge: 0)
            let bob = try await harness.request("PUT", target, as: GatewayHarness.bob, body: Self.longBody)
            #expect(bob.status == 200)
        }
    }

    @Test("written bytes are counted per person, over routes and events, except for a retry that wrote nothing")
    func bytes() async throws {
        try await GatewayHarness.run(["--rate-bytes", "21k/1h,1m/1h"]) { harness in
            harness.chat.on("chat.send", reply: Reply(.ok, isDuplicate: true))
            let client = try await harness.connect()
            let payload = Self.payload(15_000)
            for _ in 1...3 { #expect(try await client.ask("chat:send", payload)["success"]?.bool == true) }
            harness.rooms.on("rooms.rename", reply: Reply(.ok, GatewayHarness.base("r")))
            harness.contribute(badge: 0)
            try await expect(200, harness, "PUT", "/api/rooms/r/name", body: Self.longBody)
            let refused = try await harness.request("PUT", "/api/rooms/r/name", body: Self.longBody)
            #expect(refused.status == 429 && refused.body.contains("more than may be written"))
            #expect(try await client.ask("chat:send", payload)["error"]?["code"]?.string == "rate_limited")
            let bob = try await harness.request("PUT", "/api/rooms/r/name", as: GatewayHarness.bob, body: Self.longBody)
            #expect(bob.status == 200)
            try await expect(405, harness, "GET", "/api/rooms/r/name")
        }
    }

    @Test("a body that is not JSON counts towards the bytes a person may write: parsing it took as long")
    func bytesOfRefusedBodies() async throws {
        try await GatewayHarness.run(["--rate-bytes", "21k/1h,1m/1h"]) { harness in
            harness.rooms.on("rooms.rename", reply: Reply(.ok, GatewayHarness.base("r")))
            harness.contribute(badge: 0)
            let refused = try await harness.request(
                "PUT", "/api/rooms/r/name", body: String(repeating: "x", count: 15_000))
            #expect(try refused.status == 400 && refused.errorCode == "malformed_request")
            try await expect(429, harness, "PUT", "/api/rooms/r/name", body: Self.longBody)
        }
    }

    @Test("connecting is limited, for an address also with an invalid token: clients come back later")
    func connects() async throws {
        try await GatewayHarness.run(["--rate-connects", "2/1h,100/1h"]) { harness in
            for _ in 1...2 { _ = try await harness.connect() }
            let client = try await harness.openSocket()
            try await client.send("40{\"token\":\"\(harness.token())\"}")
            #expect(try await client.receive() == "closed")
            _ = try await harness.connect(GatewayHarness.bob)
        }
        try await GatewayHarness.run(["--rate-connects", "100/1h,1/1h"]) { harness in
            let client = try await harness.openSocket()
            try await client.send("40{\"token\":\"none\"}")
            #expect(try await client.receive().hasPrefix("44"))
            try await client.send("40{\"token\":\"none\"}")
            #expect(try await client.receive() == "closed")
        }
    }

    @Test("a socket that asks too often for missed events is made to reload, and misses nothing from then on")
    func replays() async throws {
        try await GatewayHarness.run(["--rate-sync", "1/1h,100/1h"]) { harness in
            func connect(since cursor: String) async throws -> (SocketIOTestClient, done: JSONValue) {
                let client = try await harness.openSocket()
                try await client.send("40{\"token\":\"\(harness.token())\",\"since\":\"\(cursor)\"}")
                #expect(try await client.receive().hasPrefix("40{"))
                while true {
                    if case .event("sync:done", let data) = try await client.next() { return (client, data) }
                }
            }
            // An invalid cursor replays nothing, and does not count.
            let cursor = try #require(try await connect(since: "none").done["cursor"]?.string)
            #expect(try await connect(since: cursor).done["recovered"]?.bool == true)
            let (client, done) = try await connect(since: cursor)
            #expect(done["recovered"]?.bool == false && done["cursor"]?.string != nil)
            harness.chat.emit([Emission(to: .person("ada"), "news", JSONValue(1))])
            #expect(try await client.next() == .event("news", JSONValue(1)))
        }
    }

    @Test("rooms in recomposed lists count: a person with many rooms may ask less often")
    func lists() async throws {
        try await GatewayHarness.run(["--rate-lists", "3/1h,1000/1h"]) { harness in
            harness.contribute(badge: 0)
            let rooms = "[\(GatewayHarness.base("1")),\(GatewayHarness.base("2")),\(GatewayHarness.base("3"))]"
            harness.rooms.on(
                "rooms.by-person", reply: Reply(.ok, try JSONValue(parsing: #"{"rooms":\#(rooms),"people":[]}"#)))
            for status in [200, 429] { try await expect(status, harness, "GET", "/api/rooms/grouped-by-person") }
            for status in [200, 429] {
                try await expect(status, harness, "GET", "/api/rooms/grouped-by-person", as: GatewayHarness.bob)
            }
            try await expect(429, harness, "GET", "/api/sync")
            // Answers without a list are unaffected.
            harness.chat.on("chat.list", reply: Reply())
            try await expect(200, harness, "GET", "/api/chat")
        }
    }

    @Test("requests over a person's concurrency limit are refused, with the time to wait")
    func inFlight() async throws {
        try await GatewayHarness.run { harness in
            let asked = harness.chat.hold("chat.list")
            let clients = try (1...32).map { _ in
                let client = try RawClient(port: harness.port)
                try client.send("GET /api/chat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(harness.token())\r\n\r\n")
                return client
            }
            let held = try await asked.next(32)
            let refused = try await harness.request("GET", "/api/chat")
            #expect(refused.status == 429 && refused.header("Retry-After") == "1")
            for request in held { request.reply(Reply().json) }
            for client in clients { #expect(try client.receiveLine()?.hasPrefix("HTTP/1.1 200 ") == true) }
            harness.chat.on("chat.list", reply: Reply())
            try await expect(200, harness, "GET", "/api/chat")
        }
    }

    @Test("unread heavy answers hold both slots: the person's next one waits, and in the end is refused")
    func unread() async throws {
        try await GatewayHarness.run(["--request-timeout", "5s"]) { harness in
            harness.contribute(badge: 0)
            // Longer than what the kernel takes for a client that does not read.
            let name = String(repeating: "x", count: 20_000)
            let rooms = JSONWriter.value { json in
                json.array(of: 0..<20) { json, number in json.value(GatewayHarness.base("\(number)", name: name)) }
            }
            let people = try JSONValue(parsing: #"[{"id":"bob","username":"bob","firstName":null,"email":null}]"#)
            harness.rooms.on("rooms.by-person") { request in
                // In pages: the other stands in each of them.
                let number = request.data["cursor"]?.string.flatMap { Int($0) } ?? 0
                let data = JSONWriter.object {
                    $0.member("rooms", rooms)
                    $0.member("people", people)
                }
                request.reply(Reply(.ok, data, page: number < 20 ? JSONValue("\(number + 1)") : nil).json)
            }
            let lazy = try (1...2).map { _ in try RawClient(port: harness.port, receiveBuffer: 4096) }
            for client in lazy {
                try client.send(
                    "GET /api/rooms/grouped-by-person HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(harness.token())\r\n\r\n"
                )
                // It has begun, and stays where it is.
                _ = try client.receiveLine()
            }
            let refused = try await harness.request("GET", "/api/rooms/grouped-by-person")
            #expect(refused.status == 429)
            let bob = try await harness.request("GET", "/api/rooms/grouped-by-person", as: GatewayHarness.bob)
            #expect(bob.status == 200)
            for client in lazy { client.close() }
            let again = try await harness.request("GET", "/api/rooms/grouped-by-person")
            #expect(again.status == 200)
            // Twenty rooms in each of 21 pages, and the other once.
            #expect(try again.json["data"]?.array?.map { $0["rooms"]?.array?.count } == [420])
        }
    }
}
