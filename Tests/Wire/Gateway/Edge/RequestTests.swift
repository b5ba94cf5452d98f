import GatewayTesting
import ParlorContracts
import ParlorHTTP
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import ParlorTestSupport
import Synchronization
import Testing

@testable import ParlorEdge
@testable import ParlorGatewayEdge

@Suite("HTTP through the gateway", .timeLimit(.minutes(1)))
struct RequestTests {
    @Test("a service's reply becomes the body, and the service gets the caller and the parts of the request")
    func passesOn() async throws {
        try await GatewayHarness.run { harness in
            let asked = harness.rooms.hold("rooms.remove")
            async let response = harness.request(
                "DELETE", "/api/rooms/a%2Fb/things/%C3%A9?why=old%20one&roomId=other", headers: ["X-Request-Id: mine-1"]
            )
            let request = try await asked.next()
            #expect(request.data["roomId"]?.string == "a/b" && request.data["thing"]?.string == "é")
            #expect(request.data["why"]?.string == "old one")
            #expect(request.context.caller.flatMap(Caller.init) == GatewayHarness.ada)
            #expect(request.context.requestID == "mine-1" && request.context.key == "a/b")
            request.reply(Reply(.ok, JSONValue("gone")).json)
            let answer = try await response
            #expect(answer.status == 200 && answer.body == #"{"data":"gone"}"#)
            #expect(answer.header("X-Request-Id") == "mine-1")
        }
    }

    @Test("fields in the path take precedence over the body's")
    func pathWins() async throws {
        try await GatewayHarness.run { harness in
            harness.serveRoom()
            harness.rooms.on("rooms.rename") { request in
                request.reply(Reply(.ok, GatewayHarness.base(request.data["roomId"]?.string ?? "")).json)
            }
            let answer = try await harness.request(
                "PUT", "/api/rooms/mine/name", body: #"{"roomId":"yours","name":"x"}"#)
            #expect(answer.status == 200)
            #expect(try answer.json["data"]?["id"]?.string == "mine")
        }
    }

    @Test("a refusal is logged with its target, without the query, and the reason that the client reads")
    func logsRefusals() async throws {
        try await GatewayHarness.run { harness in
            let refusals = [
                ("GET", "/api/nothing?secret", "GET /api/nothing", "route_not_found"),
                ("PATCH", "/api/rooms/r/name", "PATCH /api/rooms/r/name", "method_not_allowed"),
            ]
            for (method, path, target, code) in refusals {
                let answer = try await harness.request(method, path, headers: ["X-Request-Id: mine-\(code)"])
                let reason = try #require(try answer.json["error"]?["message"]?.string)
                let lines = try harness.log.lines.map { try JSONValue(parsing: Array($0.utf8)) }
                let line = try #require(lines.first { $0["request"]?.string == "mine-\(code)" })
                #expect(line["message"]?.string == "refused a client" && line["target"]?.string == target)
                #expect(line["code"]?.string == code && line["reason"]?.string == reason)
            }
        }
    }

    @Test(
        "each of the contract's errors has its status, its code and its request's id", arguments: ErrorCode.ofContract)
    func errors(code: ErrorCode) async throws {
        let expected: [ErrorCode: Int] = [
            .malformedRequest: 400, .unauthenticated: 401, .invalidCredentials: 401, .invalidToken: 401,
            .forbidden: 403,
            .roomNotFound: 404, .directRoom: 409, .messageNotFound: 404, .elementNotFound: 404, .userNotFound: 404,
            .routeNotFound: 404,
            .methodNotAllowed: 405, .usernameTaken: 409, .emailTaken: 409, .versionConflict: 409, .payloadTooLarge: 413,
            .invalidField: 422, .rateLimited: 429, .internal: 500, .serviceUnavailable: 503,
        ]
        let response = HTTPResponse.error(ServiceError(code, "words", retryAfter: 3), requestID: "id-1")
        #expect(response.status == expected[code])
        #expect(response.headers["Retry-After"] == "3")
        let error = try JSONValue(parsing: response.body)["error"]
        #expect(error?.text == #"{"code":"\#(code.rawValue)","message":"words","requestId":"id-1"}"#)
    }

    @Test("a service's error reaches the client unchanged")
    func serviceError() async throws {
        try await GatewayHarness.run { harness in
            harness.rooms.on("rooms.get", error: .roomNotFound)
            let answer = try await harness.request("GET", "/api/rooms/x", headers: ["X-Request-Id: mine-2"])
            #expect(answer.status == 404)
            #expect(
                answer.body
                    == #"{"error":{"code":"room_not_found","message":"There is no such room.","requestId":"mine-2"}}"#)
        }
    }

    @Test("an error with a service's own code reaches the client with its status")
    func ownError() async throws {
        try await GatewayHarness.run { harness in
            let code = try #require(ErrorCode(ownName: "too_blue", status: 409))
            harness.rooms.on("rooms.get", error: ServiceError(code, "Too blue."))
            let answer = try await harness.request("GET", "/api/rooms/x", headers: ["X-Request-Id: mine-3"])
            #expect(answer.status == 409)
            #expect(answer.body == #"{"error":{"code":"too_blue","message":"Too blue.","requestId":"mine-3"}}"#)
        }
    }

    @Test("errors are counted by the contract's code, and those with services' own codes together")
    func errorCounts() throws {
        let metrics = Metrics()
        let edge = EdgeMetrics(metrics)
        edge.note(.roomNotFound)
        for name in ["too_blue", "too_red"] {
            edge.note(ServiceError(try #require(ErrorCode(ownName: name, status: 409)), "Too much."))
        }
        #expect(metrics.text().contains(#"parlor_errors_total{code="room_not_found"} 1"#))
        #expect(metrics.text().contains(#"parlor_errors_total{code="other"} 2"#))
    }

    @Test("a request without a valid token reaches no service")
    func unauthenticated() async throws {
        try await GatewayHarness.run { harness in
            let none = try await harness.request("GET", "/api/chat", as: nil)
            #expect(none.status == 401 && none.header("WWW-Authenticate") == "Bearer")
            let expired = harness.token(lifetime: .seconds(10))
            harness.clock.advance(by: .seconds(10))
            for value in ["Bearer", "Bearer ", "Bearer x.y.z", "Bearer \(expired)", "Basic \(harness.token())"] {
                let answer = try await harness.request(
                    "GET", "/api/chat", as: nil, headers: ["Authorization: \(value)"])
                #expect(try answer.status == 401 && answer.errorCode == "unauthenticated")
            }
            harness.chat.on("chat.list", reply: Reply())
            let lower = ["authorization: bearer \(harness.token())"]
            #expect(try await harness.request("GET", "/api/chat", as: nil, headers: lower).status == 200)
        }
    }

    @Test("an unavailable service is answered 503 at once, with a retry time; when it is available it answers")
    func away() async throws {
        try await GatewayHarness.run { harness in
            harness.chat.takeDown()
            let answer = try await harness.request("GET", "/api/chat")
            #expect(try answer.status == 503 && answer.errorCode == "service_unavailable")
            #expect(answer.header("Retry-After") == "1")
            try harness.chat.bringUp()
            harness.chat.on("chat.list", reply: Reply())
            #expect(try await harness.request("GET", "/api/chat").status == 200)
        }
    }

    @Test("a service that does not answer in time is answered 503")
    func tooLate() async throws {
        try await GatewayHarness.run(["--request-timeout", "100ms"]) { harness in
            harness.chat.on("chat.list") { _ in }
            let answer = try await harness.request("GET", "/api/chat")
            #expect(answer.status == 503)
        }
    }

    @Test("an unknown path is 404, but 503 while a service has yet to announce itself; another method is 405")
    func unknown() async throws {
        try await GatewayHarness.run { harness in
            #expect(try await harness.request("GET", "/api/nothing").errorCode == "route_not_found")
            let other = try await harness.request("POST", "/api/chat", body: "{}")
            #expect(other.status == 405 && other.header("Allow") == "GET, HEAD")
        }
        try await GatewayHarness.run(["--required-services", "rooms,chat,later"]) { harness in
            let (below, beside) = (
                try await harness.request("GET", "/api/nothing"), try await harness.request("GET", "/nothing")
            )
            #expect(below.status == 503 && beside.status == 404)
        }
    }

    @Test(
        "a body that is not a JSON object is refused before it reaches a service",
        arguments: ["{", "[]", "1", #"{"a":1}x"#, "{\"a\":\"\u{1}\"}", " ", ""])
    func malformed(body: String) async throws {
        try await GatewayHarness.run { harness in
            let answer = try await harness.request(
                "POST", "/api/open", as: nil, body: body, headers: ["Content-Type: application/json"])
            #expect(try answer.status == 400 && answer.errorCode == "malformed_request")
        }
    }

    @Test("a request with neither a body nor a type of one has no fields", arguments: ["POST", "PUT", "PATCH"])
    func noBody(method: String) async throws {
        try await GatewayHarness.run { harness in
            let manifest = Manifest(service: "talk", routes: [Route(method, "/api/talks/:talkId", "talk.begin")])
            let talk = try FakeService.start(manifest, on: harness.bus)
            talk.on("talk.begin") { $0.reply(Reply(.ok, $0.data).json) }
            #expect(try await harness.request(method, "/api/talks/1").body == #"{"data":{"talkId":"1"}}"#)
        }
    }

    @Test("an encoded body is refused, and the error says so")
    func encodedBody() async throws {
        try await GatewayHarness.run { harness in
            let answer = try await harness.request(
                "POST", "/api/open", as: nil, body: "x", headers: ["Content-Encoding: gzip"])
            #expect(try answer.status == 400 && answer.errorCode == "malformed_request")
            #expect(answer.body.contains("not decoded from gzip"))
        }
    }

    @Test("a body that fits the edge but not the bus is too large, and not an unavailable service")
    func tooLarge() async throws {
        try await GatewayHarness.run { harness in
            let text = String(repeating: "x", count: BusLimits.maxLine - 100)
            let answer = try await harness.request("POST", "/api/open", as: nil, body: #"{"text":"\#(text)"}"#)
            #expect(try answer.status == 413 && answer.errorCode == "payload_too_large")
        }
    }

    @Test("failed sign-ins count for the address, whatever name was tried; a success does not")
    func failures() async throws {
        try await GatewayHarness.run { harness in
            func open(_ name: String, expect status: Int, _ location: SourceLocation = #_sourceLocation) async throws {
                let answer = try await harness.request(
                    "POST", "/api/open", as: nil, body: #"{"username":"\#(name)"}"#)
                #expect(answer.status == status, sourceLocation: location)
            }
            harness.rooms.on("rooms.open", reply: Reply())
            for _ in 1...5 { try await open("ada", expect: 200) }
            harness.rooms.on("rooms.open", error: ServiceError(.invalidCredentials, "No."))
            try await open("ada", expect: 401)
            harness.rooms.on("rooms.open", error: .userNotFound)
            for _ in 1...5 { try await open("cy", expect: 404) }
            harness.rooms.on("rooms.open", error: ServiceError(.invalidCredentials, "No."))
            try await open("bob", expect: 401)
            try await open("eve", expect: 429)
        }
    }

    @Test("an expired token does not count as a password guess")
    func expiredIsNoGuess() async throws {
        try await GatewayHarness.run { harness in
            for _ in 1...5 {
                let answer = try await harness.request("POST", "/api/change", as: nil, body: "{}")
                #expect(answer.status == 401)
            }
            harness.rooms.on("rooms.change", reply: Reply())
            let answer = try await harness.request("POST", "/api/change", body: "{}")
            #expect(answer.status == 200)
        }
    }

    @Test("guesses that are sent together are counted before they are answered")
    func failuresTogether() async throws {
        try await GatewayHarness.run { harness in
            let asked = harness.rooms.hold("rooms.open")
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 1...3 {
                    group.addTask {
                        try await harness.request("POST", "/api/open", as: nil, body: #"{"username":"ada"}"#).status
                    }
                }
                let refused = try await group.next()
                for request in try await asked.next(2) {
                    request.reply(ServiceError(.invalidCredentials, "No.").json)
                }
                return try await group.reduce(into: [refused]) { $0.append($1) }
            }
            #expect(statuses == [429, 401, 401])
        }
    }

    @Test("a call counts against each limit of its route, and against none if one is used up")
    func severalLimits() async throws {
        try await GatewayHarness.run(["--rate-sign-ins", "1000/1h,3/1h"]) { harness in
            harness.rooms.on("rooms.open", reply: Reply())
            for status in [200, 200, 200, 429] {
                let answer = try await harness.request("POST", "/api/open", as: nil, body: #"{"username":"ada"}"#)
                #expect(answer.status == status)
            }
        }
    }

    @Test("a name in a request uses up nobody's limit: only a signed-in person is counted")
    func namesCountForNobody() async throws {
        try await GatewayHarness.run(["--rate-sign-ins", "1/1h,1000/1h"]) { harness in
            harness.rooms.on("rooms.open", reply: Reply())
            for _ in 1...5 {
                let answer = try await harness.request("POST", "/api/open", as: nil, body: #"{"username":"ada"}"#)
                #expect(answer.status == 200)
            }
        }
    }

    @Test("behind a trusted proxy each client's address counts by itself, an IPv6 subscriber's together")
    func addresses() async throws {
        try await GatewayHarness.run(["--rate-sign-ins", "1000/1h,1/1h", "--trusted-proxies", "127.0.0.1"]) { harness in
            harness.rooms.on("rooms.open", reply: Reply())
            for (client, status) in [
                ("203.0.113.1", 200), ("203.0.113.1", 429), ("203.0.113.2", 200), ("2001:db8::1", 200),
                ("2001:db8::2:1", 429), ("2001:db8:0:1::1", 200),
            ] {
                let answer = try await harness.request(
                    "POST", "/api/open", as: nil, body: "{}", headers: ["X-Forwarded-For: \(client)"])
                #expect(answer.status == status, "\(client)")
            }
        }
    }

    @Test("a trusted proxy's health checks are answered, whatever its clients did")
    func healthChecks() async throws {
        try await GatewayHarness.run(["--rate-requests", "2/1h,2/1h", "--trusted-proxies", "127.0.0.1"]) { harness in
            for (client, status) in [("127.0.0.1", 200), ("127.0.0.1", 200), ("127.0.0.1", 429)] {
                let answer = try await harness.request(
                    "GET", "/healthz", as: nil, headers: ["X-Forwarded-For: \(client)"])
                #expect(answer.status == status)
            }
            for _ in 1...3 { #expect(try await harness.request("GET", "/healthz", as: nil).status == 200) }
        }
    }

    @Test("a refusal names one time to wait, that of the edge")
    func timeToWait() async throws {
        try await GatewayHarness.run(["--rate-requests", "1/1h,1/1h"]) { harness in
            _ = try await harness.request("GET", "/api/nothing")
            let refused = try await harness.request("GET", "/api/nothing")
            #expect(refused.status == 429)
            #expect(refused.head.components(separatedBy: "Retry-After: ").count == 2)
        }
        let full = HTTPResponse.failure(HTTPFailure(status: 503, reason: "full", requestID: "r", retryAfter: 5))
        #expect(full.headers.all("Retry-After") == ["5"])
    }

    @Test("the health endpoints report liveness, and whether every required service is there")
    func operations() async throws {
        try await GatewayHarness.run { harness in
            #expect(try await harness.request("GET", "/healthz", as: nil).status == 200)
            let ready = try await harness.request("GET", "/readyz", as: nil)
            #expect(
                ready.status == 200
                    && ready.body
                        == #"{"status":"ready","services":{"chat":"up","rooms":"up"},"version":"\#(Release.version)"}"#
            )
            harness.chat.takeDown()
            let without = try await harness.request("GET", "/readyz", as: nil)
            #expect(
                without.status == 503
                    && without.header("Retry-After") == "1"
                    && without.body.hasPrefix(#"{"status":"not ready","services":{"chat":"down","rooms":"up"},"#))
            let metrics = try await harness.request("GET", "/metrics", as: nil).body
            #expect(metrics.contains("# TYPE parlor_connections gauge\n"))
            #expect(metrics.contains("# TYPE parlor_http_requests_total counter\n"))
            #expect(try await harness.request("POST", "/healthz", as: nil).status == 405)
            // A proxy that hides the path does not decode it.
            for path in ["/%6Detrics", "/metric%73", "/%72eadyz"] {
                #expect(try await harness.request("GET", path, as: nil).status == 404)
            }
        }
    }

    @Test("with public operations off, readiness and metrics are 404, and the health check still works")
    func privateOperations() async throws {
        try await GatewayHarness.run(["--public-operations", "off"]) { harness in
            for path in ["/readyz", "/metrics"] {
                let answer = try await harness.request("GET", path, as: nil)
                #expect(answer.status == 404 && answer.body.contains("route_not_found"))
            }
            #expect(try await harness.request("GET", "/healthz", as: nil).status == 200)
            #expect(await harness.gateway.isHealthy())
            harness.chat.takeDown()
            #expect(await !harness.gateway.isHealthy())
        }
    }

    @Test("many who ask whether services are ready cause few rounds of requests; a few get an answer of their own")
    func fewProbes() async throws {
        let rounds = Arrivals<CheckedContinuation<Set<String>, Never>>()
        let shared = ReadinessProbe { await withCheckedContinuation { rounds.add($0) } }
        let first = Task.immediate { await shared.missingServices() }
        let second = Task.immediate { await shared.missingServices() }
        try await rounds.next().resume(returning: ["chat"])
        #expect(await first.value == ["chat"])
        #expect(await second.value == ["chat"])

        let asked = Atomic(0)
        let probe = ReadinessProbe(interval: .seconds(3600)) { ["\(asked.add(1, ordering: .relaxed).newValue)"] }
        for number in 1...ReadinessProbe.maxRounds { #expect(await probe.missingServices() == ["\(number)"]) }
        for _ in 1...100 { #expect(await probe.missingServices() == ["\(ReadinessProbe.maxRounds)"]) }
    }
}
