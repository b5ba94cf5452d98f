import ParlorContracts
import ParlorJSON
import ParlorTestSupport
import Testing

@testable import ParlorGatewayCatalog

/// Announcements that the gateway refuses.
extension DirectoryTests {
    @Test("an announcement on another service's subject is ignored")
    func otherName() async throws {
        try await run { directory in
            try directory.start()
            try announce(Manifest(service: "accounts"), on: Subject.announce(of: "evil"))
            try announce(Manifest(service: "evil"), on: Subject.announce(of: "evil"))
            #expect(try await announced.next() == "evil")
            #expect(directory.catalog.manifests.keys.sorted() == ["evil"])
            #expect(log.text.contains("it names another service"))
        }
    }

    @Test("an announcement that lacks the head of one of its logs is refused")
    func missingHeads() async throws {
        try await run { directory in
            try directory.start()
            var manifest = Manifest(service: "chat", hasEventLog: true)
            manifest.logLayout = LogLayout(generation: 1, count: 2)
            try announce(manifest, on: Subject.announce(of: "chat"))
            try announce(Manifest(service: "good"), on: Subject.announce(of: "good"))
            #expect(try await announced.next() == "good")
            #expect(directory.catalog.manifests.keys.sorted() == ["good"])
            #expect(log.text.contains("it is malformed"))
        }
    }

    static let mistakes = [
        (#""limits":[{"name":"slow","counted":"calls","perPerson":2,"seconds":60}]"#, #""name":"slow""#),
        (#""routes":[{"method":"GET","path":"/x","subject":"lab.x","needsLogin":"yes","answer":"plain"}]"#, "/x"),
        (#""checks":[{"before":"chat.send","whenAway":"deny"}]"#, "chat.send"),
        (
            #""routes":[{"method":"GET","path":"/x","subject":"lab.x","needsLogin":true,"answer":"plain","limits":["sloww"]}]"#,
            "sloww"
        ), (#""contribution":{"subject":"lab.f","fields":[{"path":"badges.lab"}]}"#, "`contribution`"),
        (#""logs":[100,102]"#, "`logs`"),
        (#""checks":[{"before":"chat.sendd","subject":"lab.c","deadline":500,"whenAway":"deny"}]"#, "chat.sendd"),
    ]

    @Test("a mistake in a manifest that holds all the same is logged", arguments: mistakes)
    func mistake(json: String, text: String) async throws {
        try await run { directory in
            try directory.start()
            let manifest = try JSONValue(parsing: #"{"service":"lab",\#(json)}"#)
            try announce(manifest, on: Subject.announce(of: "lab"))
            #expect(try await announced.next() == "lab")
            // The line may follow the call.
            try announce(Manifest(service: "good"), on: Subject.announce(of: "good"))
            #expect(try await announced.next() == "good")
            #expect(log.text.replacing(#"\""#, with: #"""#).contains(text))
        }
    }

    static let foreign: [Manifest] = [
        Manifest(service: "evil", routes: [Route("GET", "/x", "messaging.list", needsLogin: false)]),
        Manifest(service: "evil", routes: [Route("GET", "/x", "evilish.list")]),
        Manifest(service: "evil", socketEvents: [SocketEvent("x", "messaging.send")]),
        Manifest(service: "evil", contribution: Contribution(subject: "accounts.people", fields: [])),
        Manifest(service: "evil", presenceSubject: "elements.presence"),
        checking([RequestCheck(before: "messaging.send", "messaging.read", whenAway: .allow)]),
        contributing(Contribution(subject: "accounts.people", fields: [])),
    ]

    private static func contributing(_ contribution: Contribution) -> Manifest {
        var manifest = Manifest(service: "evil")
        manifest.objectContributions[.messages] = contribution
        return manifest
    }

    private static func checking(_ checks: [RequestCheck]) -> Manifest {
        var manifest = Manifest(service: "evil")
        manifest.checks = checks
        return manifest
    }

    @Test("an announcement that would make the gateway ask another service is ignored", arguments: foreign)
    func otherSubject(manifest: Manifest) async throws { try await expectRefusal(of: manifest) }

    /// Announces it as the service `evil`, and then another service, which has to be the only one.
    private func expectRefusal(of manifest: Manifest) async throws {
        try await run { directory in
            try directory.start()
            try announce(manifest, on: Subject.announce(of: "evil"))
            try announce(Manifest(service: "good"), on: Subject.announce(of: "good"))
            #expect(try await announced.next() == "good")
            #expect(directory.catalog.manifests.keys.sorted() == ["good"])
        }
    }

    static let excessive: [(Manifest, String)] = [
        (
            Manifest(service: "evil", routes: (0...256).map { Route("GET", "/api/\($0)", "evil.\($0)") }),
            "257 routes, limit 256"
        ),
        (
            Manifest(service: "evil", socketEvents: (0...256).map { SocketEvent("e\($0)", "evil.\($0)") }),
            "257 socket events, limit 256"
        ),
        (
            Manifest(
                service: "evil",
                contribution: Contribution(
                    subject: "evil.x",
                    fields: (0...64).map { Contribution.Field("f\($0)", .value, zero: JSONValue(0)) })),
            "65 fields, limit 64"
        ),
        (
            Manifest(service: "evil", routes: [Route("GET", "/" + String(repeating: "x", count: 1_024), "evil.x")]),
            "1025 bytes in a path, limit 1024"
        ),
        (
            Manifest(service: "evil", routes: [Route("GET", String(repeating: "/:a", count: 17), "evil.x")]),
            "17 parameters in a path, limit 16"
        ),
        (
            Manifest(
                service: "evil",
                socketEvents: [SocketEvent("e", "evil.x", ackCopies: (0...16).map { (name: "c\($0)", from: "id") })]),
            "17 copies in an ack, limit 16"
        ),
        (
            Manifest(service: "evil", socketEvents: [SocketEvent(String(repeating: "x", count: 129), "evil.x")]),
            "129 bytes in a name, limit 128"
        ),
        (
            Manifest(
                service: "evil",
                contribution: Contribution(
                    subject: "evil.x",
                    fields: [.init("f", .value, zero: JSONValue(String(repeating: "x", count: 4_095)))])),
            "4097 bytes in a zero, limit 4096"
        ),
        (
            Manifest(
                service: "evil",
                contribution: Contribution(
                    subject: "evil.x",
                    fields: [
                        .init("f", .value, role: .badge(String(repeating: "x", count: 129)), zero: JSONValue(0))
                    ])),
            "129 bytes in a name, limit 128"
        ),
        (
            contributing(
                Contribution(subject: "evil.x", fields: (0...64).map { .init("f\($0)", zero: JSONValue(0)) })),
            "65 fields, limit 64"
        ),
        (
            checking((0...64).map { RequestCheck(before: "a.b\($0)", "evil.x", whenAway: .allow) }),
            "65 checks, limit 64"
        ),
        (
            checking([RequestCheck(before: String(repeating: "x", count: 129), "evil.x", whenAway: .allow)]),
            "129 bytes in a name, limit 128"
        ),
    ]

    @Test("an announcement that is over a limit is refused", arguments: excessive)
    func tooLarge(manifest: Manifest, excess: String) async throws {
        try await expectRefusal(of: manifest)
        #expect(log.text.contains(excess))
    }

    @Test("a service that repeats a refused announcement is logged once, and informed once")
    func repeated() async throws {
        let informed = Collector<String>()
        try bus.respond(to: Subject.refusal(of: "evil"), queue: "evil") { request in
            informed.add(request.data["reason"]?.string ?? "")
            request.reply(Reply().json)
        }
        try await run { directory in
            try directory.start()
            for _ in 0..<1_000 {
                try announce(Manifest(service: "accounts"), on: Subject.announce(of: "evil"))
                try bus.publish(Subject.announce(of: "worse"), JSONValue("?"))
            }
            try announce(Manifest(service: "good"), on: Subject.announce(of: "good"))
            #expect(try await announced.next() == "good")
            #expect(log.text.split(separator: "\n").count { $0.contains("an announcement is refused") } == 2)
            await informed.first(1)
            #expect(informed.takeAll() == ["it names another service"])
        }
    }

    @Test("the number of services is limited, whoever announces them")
    func tooMany() async throws {
        try await run { directory in
            try directory.start()
            for number in 0...Directory.maxServices {
                try announce(Manifest(service: "s\(number)"), on: Subject.announce(of: "s\(number)"))
            }
            #expect(directory.catalog.manifests.count == Directory.maxServices)
            #expect(log.text.contains("there are too many services"))
        }
    }
}
