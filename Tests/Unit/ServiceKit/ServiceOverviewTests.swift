import ParlorContracts
import ParlorJSON
import Testing

@testable import ParlorServiceKit

@Suite("The replies to `parlor services` and `parlor forget`")
struct ServiceOverviewTests {
    private static let dice = {
        var manifest = Manifest(
            service: "dice", routes: [Route("GET", "/api/dice", "dice.list")],
            socketEvents: [SocketEvent("dice:roll", "dice.roll")],
            contribution: Contribution(
                subject: "dice.contribute", fields: [.badge("dice"), .init("rolls", zero: JSONValue(0))]))
        manifest.objectContributions[.messages] = Contribution(
            subject: "dice.messages", fields: [.init("roll", zero: .null)])
        manifest.checks = [RequestCheck(before: "messaging.send", "dice.check", whenAway: .deny)]
        return manifest
    }()

    private func service(
        _ name: String, digest: String? = "d", isRequired: Bool = false, known: Duration? = .seconds(90),
        isServed: Bool = true, hasNames: Bool = false, refusal: KnownService.Refusal? = nil
    ) -> KnownService {
        var offer = digest.map { ServiceOffer(Self.dice, digest: $0) }
        if !hasNames { offer?.names = nil }
        return KnownService(
            name: name, isRequired: isRequired, offer: offer, known: known, heard: .seconds(7), isServed: isServed,
            refusal: refusal)
    }

    private func reports(_ gateway: String, _ services: KnownService..., count: Int? = nil) -> [ServiceReport] {
        let contents = services.map { ServiceReport.Content.service($0) } + [.end(count: count ?? services.count)]
        return contents.map { ServiceReport(requestID: "q", gateway: gateway, instance: "host/\(gateway)", $0) }
    }

    @Test("a row for each service: instances that report, or whether one is there at all")
    func rows() {
        let reports = reports(
            "1", service("dice", known: nil), service("rooms", isRequired: true), service("votes", isServed: false))
        let overview = ServiceOverview(reports, alive: ["1"], instances: ["rooms": 2], of: nil)
        #expect(overview.isFine)
        #expect(
            overview.lines == [
                """
                service  required  instances  known  heard  routes  events  badges  fields  checks
                dice     no               1+      -    7 s       1       1       1       2       1
                rooms    yes               2   90 s    7 s       1       1       1       2       1
                votes    no                0   90 s    7 s       1       1       1       2       1

                """, "gateways: host/1",
            ])
    }

    @Test("names are listed if a gateway sent them, without what controls a terminal")
    func names() {
        let overview = ServiceOverview(
            reports("1", service("di\u{1B}ce", hasNames: true)), alive: [], instances: [:], of: "dice")
        #expect(
            overview.lines[1] == """
                di?ce
                  route  GET /api/dice
                  event  dice:roll
                  badge  dice
                  field  rolls
                  field  Message.roll
                  check  before messaging.send, if it is down: deny

                """)
    }

    @Test("gateways that differ are named: one lacks a service, or has another announcement of it")
    func differences() {
        let all =
            reports("1", service("dice", digest: "aaaaaaaaaaaa"), service("same"))
            + reports("2", service("dice", digest: "bbbbbbbbbbbb"), service("same")) + reports("3", service("same"))
        let overview = ServiceOverview(all.shuffled(), alive: ["1", "2", "3"], instances: [:], of: nil)
        #expect(!overview.isFine)
        #expect(
            overview.lines.dropFirst() == [
                "gateways differ about dice: host/1 has aaaaaaaa, host/2 has bbbbbbbb, host/3 does not have it",
                "gateways: host/1, host/2, host/3",
            ])
    }

    @Test("a refusal is listed once for all gateways that have it, also of a service that offers nothing")
    func refusals() {
        let refusal = KnownService.Refusal(reason: "POST /login is of accounts", age: .seconds(3))
        let all =
            reports("1", service("thief", digest: nil, refusal: refusal))
            + reports("2", service("thief", digest: nil, refusal: refusal))
        let overview = ServiceOverview(all, alive: ["1", "2"], instances: [:], of: nil)
        #expect(!overview.isFine)
        #expect(
            overview.lines == [
                "thief was refused 3 s ago by host/1, host/2: POST /login is of accounts", "gateways: host/1, host/2",
            ])
    }

    @Test("a gateway that is silent, a reply with a gap, an unknown name and no reply at all are problems")
    func missing() {
        let gap = ServiceOverview(reports("1", service("dice"), count: 2), alive: ["1", "2"], instances: [:], of: nil)
        #expect(!gap.isFine)
        #expect(gap.lines[1].hasPrefix("host/1: a part of its reply is missing"))
        #expect(gap.lines[2].hasPrefix("gateway 2 did not reply"))
        let unknown = ServiceOverview(reports("1"), alive: ["1"], instances: [:], of: "dice")
        #expect(!unknown.isFine && unknown.lines == ["no gateway knows dice", "gateways: host/1"])
        let none = ServiceOverview([], alive: [], instances: [:], of: nil)
        #expect(!none.isFine && none.lines == ["no gateway replied"])
    }

    @Test("a report decodes as it was encoded")
    func readsBack() {
        let refusal = KnownService.Refusal(reason: "it is malformed", age: .seconds(3))
        let all =
            reports("1", service("a"), service("b", hasNames: true, refusal: refusal))
            + reports("2", service("c", digest: nil, known: nil, refusal: refusal))
        for report in all { #expect(ServiceReport(report.json) == report) }
        let offer = ServiceOffer(Self.dice, digest: "d")
        for report in [
            ForgettingReport(requestID: "q", gateway: "1", instance: "host/1", .forgotten, offer: offer),
            ForgettingReport(requestID: "q", gateway: "1", instance: "host/1", .announced),
        ] {
            #expect(ForgettingReport(report.json) == report)
        }
        let request = OperatorRequest(id: "q", service: "dice", wantsNames: true)
        #expect(OperatorRequest(request.json) == request)
        #expect(OperatorRequest(OperatorRequest(id: "q").json) == OperatorRequest(id: "q"))
    }

    typealias Forgetting = (outcomes: [ForgettingReport.Outcome], isDone: Bool, firstLine: String)

    static let forgettings: [Forgetting] = [
        ([.forgotten, .unknown], true, "host/0: forgotten: 1 route, 1 event, 1 badge, 2 fields, 1 check"),
        ([.forgotten, .announced], false, "host/0: forgotten: 1 route, 1 event, 1 badge, 2 fields, 1 check"),
        ([.announced], false, "host/0: refused: it still announces itself, and would come back at once; stop it first"),
        ([.required], false, "host/0: refused: it is one of REQUIRED_SERVICES"),
        ([.unknown, .unknown], false, "no gateway knows dice"),
        ([], false, "no gateway replied"),
        (
            [.notWritten], false,
            """
            host/0: forgotten: 1 route, 1 event, 1 badge, 2 fields, 1 check; but manifests.json could not be written, \
            so it returns when this gateway starts again
            """
        ),
    ]

    @Test("forgetting is done when a gateway did it and no other one has the service", arguments: forgettings)
    func forgetting(item: Forgetting) {
        let reports = item.outcomes.enumerated().map { index, outcome in
            let isRemoved = outcome == .forgotten || outcome == .notWritten
            return ForgettingReport(
                requestID: "q", gateway: "\(index)", instance: "host/\(index)", outcome,
                offer: isRemoved ? ServiceOffer(Self.dice, digest: "d") : nil)
        }
        let all = ForgettingOverview(reports, alive: Set(reports.map(\.gateway)), of: "dice")
        #expect(all.isDone == item.isDone && all.lines.first == item.firstLine)
        let withSilent = ForgettingOverview(reports, alive: ["other"], of: "dice")
        #expect(!withSilent.isDone && withSilent.lines.contains { $0.hasPrefix("gateway other did not reply") })
    }
}
