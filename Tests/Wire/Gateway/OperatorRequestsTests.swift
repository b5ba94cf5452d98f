import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import ParlorServiceKitTesting
import ParlorTestSupport
import Testing

@testable import ParlorGateway

@Suite("What operators ask a running gateway", .timeLimit(.minutes(1)))
struct OperatorRequestsTests {
    /// Publishes a request, and returns what the gateway answers.
    private func reports(
        to request: OperatorRequest, from harness: GatewayHarness
    ) async throws -> [KnownService] {
        let answers = Arrivals<ServiceReport>()
        let subscription = try harness.bus.subscribe(Subject.serviceReports) { message in
            if let report = ServiceReport(message.data) { answers.add(report) }
        }
        defer { subscription.cancel() }
        try harness.bus.publish(Subject.listServices, request.json)
        var services: [KnownService] = []
        while true {
            let report = try await answers.next()
            #expect(report.requestID == request.id && report.instance == Program.instance)
            switch report.content {
            case .service(let service): services.append(service)
            case .end(let count):
                #expect(count == services.count)
                return services
            }
        }
    }

    private func runPolls(on harness: GatewayHarness, _ test: () async throws -> Void) async throws {
        try await ServiceHarness<PollsService>(bus: harness.bus, clock: harness.clock).run(test)
    }

    @Test("services are listed, with names if these are asked for, and whether anybody serves them")
    func listed() async throws {
        try await GatewayHarness.run { harness in
            harness.chat.takeDown()
            let all = try await reports(to: OperatorRequest(id: "1"), from: harness)
            #expect(all.map(\.name) == ["chat", "rooms"] && all.map(\.isServed) == [false, true])
            #expect(all.map(\.isRequired) == [true, true])
            #expect(all.map { $0.offer?.count(of: .routes) } == [1, 7] && all.allSatisfy { $0.offer?.names == nil })
            let one = try await reports(
                to: OperatorRequest(id: "2", service: "chat", wantsNames: true), from: harness)
            #expect(one.map(\.name) == ["chat"])
            #expect(one.first?.offer?.names?[.events] == ["chat:send", "chat:read", "chat:rare"])
            #expect(one.first?.offer?.digest == all.first?.offer?.digest)
            #expect(try await reports(to: OperatorRequest(id: "3", service: "nobody"), from: harness).isEmpty)
        }
    }

    @Test("a service that hangs is listed as served, and delays the reply by a moment only")
    func hangs() async throws {
        try await GatewayHarness.run { harness in
            let held = harness.chat.hold(Subject.health(of: "chat"))
            let all = try await reports(to: OperatorRequest(id: "1"), from: harness)
            #expect(all.map(\.isServed) == [true, true])
            try await held.next().reply(Reply().json)
        }
    }

    @Test("a forgotten plugin's route, event and badge are gone, and back when it announces itself again")
    func forgotten() async throws {
        try await GatewayHarness.run { harness in
            harness.serveRoom()
            try await runPolls(on: harness) {
                let votes = try await harness.request("GET", "/api/rooms/r/votes")
                #expect(votes.status == 200)
                try await expectAnnounced("polls", by: harness)
                #expect(try await harness.request("GET", "/api/rooms/r/votes").status == 200)
            }
            #expect(try await harness.request("GET", "/api/rooms/r/votes").status == 503)
            let listed = try await harness.request("GET", "/api/rooms/r").json
            #expect(listed["degraded"]?.text == #"["polls"]"#)

            #expect(try await harness.forget("polls") == .forgotten)
            #expect(try await harness.request("GET", "/api/rooms/r/votes").status == 404)
            let ada = try await harness.join()
            let ack = try await ada.ask("poll:vote", #"{"roomId":"r","choice":"x"}"#)
            #expect(ack["error"]?["code"]?.string == "malformed_request")
            let without = try await harness.request("GET", "/api/rooms/r").json
            #expect(without["degraded"] == nil && without["data"]?["badges"]?["polls"] == nil)
            #expect(try await harness.forget("polls") == .unknown)
            #expect(try await harness.forget("rooms") == .required)

            try await runPolls(on: harness) {
                let votes = try await harness.request("GET", "/api/rooms/r/votes")
                #expect(votes.status == 200)
            }
        }
    }

    /// On a slow machine a service may announce itself too late. Then it is forgotten, and back at once.
    private func expectAnnounced(_ service: String, by harness: GatewayHarness) async throws {
        for _ in 0..<10 where try await harness.forget(service) == .announced { return }
        Issue.record("\(service) was forgotten although it announces itself")
    }

    @Test("what is no request has no effect")
    func malformed() async throws {
        try await GatewayHarness.run { harness in
            for payload in [JSONValue(7), .emptyObject, .null] {
                try harness.bus.publish(Subject.listServices, payload)
                try harness.bus.publish(Subject.forgetService, payload)
            }
            try harness.bus.publish(Subject.forgetService, OperatorRequest(id: "q").json)
            #expect(try await reports(to: OperatorRequest(id: "1"), from: harness).count == 2)
        }
    }
}
