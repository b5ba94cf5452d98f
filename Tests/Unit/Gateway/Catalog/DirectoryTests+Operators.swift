import GatewayTesting
import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorServiceKit
import ParlorTestSupport
import Testing

@testable import ParlorGatewayCatalog

/// What operators see of the catalog, and make it forget.
extension DirectoryTests {
    private var polls: Manifest {
        Manifest(
            service: "polls", routes: [Route("GET", "/api/polls", "polls.list")],
            socketEvents: [SocketEvent("poll:vote", "polls.vote")],
            contribution: Contribution(
                subject: "polls.contribute", fields: [.badge("polls"), .init("pollCount", zero: JSONValue(0))]))
    }

    @Test("a service is listed with what it offers, and for how long it is known")
    func listed() async throws {
        try await run(required: ["people"]) { directory in
            try directory.start()
            let service = try FakeService.start(polls, on: bus)
            clock.advance(by: .seconds(60))
            service.announce()
            clock.advance(by: .seconds(5))
            let known = try #require(directory.known(nil).first)
            #expect(known.name == "polls" && !known.isRequired)
            #expect(known.known == .seconds(65) && known.heard == .seconds(5))
            #expect(known.offer?.names?[.routes] == ["GET /api/polls"])
            #expect(known.offer?.names?[.events] == ["poll:vote"])
            #expect(known.offer?.names?[.badges] == ["polls"])
            #expect(known.offer?.names?[.fields] == ["pollCount"])
            #expect(directory.known("people").isEmpty)
            _ = try FakeService.start(Manifest(service: "people"), on: bus)
            #expect(directory.known(nil).map(\.name) == ["people", "polls"])
            #expect(directory.known("people").map(\.isRequired) == [true])
        }
    }

    @Test("a service of the file is listed with its last announcement, and as not yet known")
    func listedFromTheFile() async throws {
        let folder = TemporaryFolder()
        let earlier = ManifestFile(folder.file("m.json"), log: .silent)
        earlier.save([KnownManifest(manifest: polls, announcedAt: clock.now())])
        await earlier.close()
        clock.advance(by: .seconds(90))
        try await run(ManifestFile(folder.file("m.json"), log: .silent)) { directory in
            try directory.start()
            let known = try #require(directory.known("polls").first)
            #expect(known.known == nil && known.heard == .seconds(90))
        }
    }

    @Test("a refused announcement is listed with its reason, until it is not repeated for twenty minutes")
    func listedRefusal() async throws {
        try await run { directory in
            try directory.start()
            _ = try FakeService.start(polls, on: bus)
            let rival = Manifest(service: "rival", routes: [Route("GET", "/api/polls", "rival.list")])
            let service = try FakeService.start(rival, on: bus)
            try announce(Manifest(service: "gateway"), on: Subject.announce(of: "gateway"))
            #expect(
                directory.known(nil).compactMap { known in known.refusal.map { "\(known.name): \($0.reason)" } } == [
                    "gateway: its name is reserved", "rival: GET /api/polls belongs to polls",
                ])
            #expect(directory.known("rival").map(\.offer) == [nil])
            clock.advance(by: .seconds(1200))
            service.announce()
            service.takeDown()
            directory.sweep()
            #expect(directory.known("gateway").count == 1)
            clock.advance(by: .milliseconds(1))
            directory.sweep()
            #expect(directory.known(nil).map(\.name) == ["polls", "rival"])
        }
    }

    @Test("refusals of ever new names are bounded: the oldest goes")
    func boundedRefusals() {
        var refused = RefusedAnnouncements()
        for index in 0...RefusedAnnouncements.maxCount {
            refused.note("s\(index)", "too large", at: Timestamp(milliseconds: index))
        }
        #expect(refused.all.count == RefusedAnnouncements.maxCount)
        #expect(refused.all["s0"] == nil && refused.all["s1"] != nil)
    }

    @Test("a service that is gone is removed, in the file too, and may return", .timeLimit(.minutes(1)))
    func forgotten() async throws {
        let folder = TemporaryFolder()
        let path = folder.file("m.json")
        try await run(ManifestFile(path, log: .silent)) { directory in
            try directory.start()
            let service = try FakeService.start(polls, on: bus)
            _ = try FakeService.start(Manifest(service: "other"), on: bus)
            service.takeDown()
            let (outcome, offer) = await directory.forget("polls")
            #expect(outcome == .forgotten && offer?.count(of: .routes) == 1 && offer?.count(of: .badges) == 1)
            // At this moment, not only after an orderly stop.
            #expect(
                ManifestFile(path, log: .silent).load(at: clock.now()).map(\.manifest.service) == ["other"])
            #expect(try await forgottenServices.next() == "polls")
            #expect(directory.catalog.manifests.keys.sorted() == ["other"])
            #expect(directory.catalog.conflict(with: polls) == nil)
            #expect(await directory.forget("polls").0 == .unknown)
            try service.bringUp()
            #expect(directory.catalog.manifests["polls"] == polls)
            #expect(directory.known("polls").first?.known == .zero)
        }
        let kept = ManifestFile(path, log: .silent).load(at: clock.now())
        #expect(kept.map(\.manifest.service).sorted() == ["other", "polls"])
    }

    @Test("a service that still announces itself is not removed, nor one that is required", .timeLimit(.minutes(1)))
    func notForgotten() async throws {
        try await run(required: ["people"]) { directory in
            try directory.start()
            let there = try FakeService.start(polls, on: bus)
            defer { there.takeDown() }
            let people = try FakeService.start(Manifest(service: "people"), on: bus)
            people.takeDown()
            #expect(await directory.forget("polls").0 == .announced)
            #expect(await directory.forget("people").0 == .required)
            #expect(await directory.forget("nobody").0 == .unknown)
            #expect(directory.catalog.manifests.keys.sorted() == ["people", "polls"])
        }
    }

    @Test("a service counts as one that announces itself even if its announcement is refused", .timeLimit(.minutes(1)))
    func refusedAndNotForgotten() async throws {
        try await run { directory in
            try directory.start()
            let service = try FakeService.start(polls, on: bus)
            service.takeDown()
            let refused = try bus.subscribe(Subject.discover) { _ in
                try? announce(Manifest(service: "else"), on: Subject.announce(of: "polls"))  // recorded by the outcome
            }
            #expect(await directory.forget("polls").0 == .announced)
            refused.cancel()
            #expect(await directory.forget("polls").0 == .forgotten)
        }
    }

    @Test("a file that cannot be written is reported", .timeLimit(.minutes(1)))
    func fileNotWritten() async throws {
        let folder = TemporaryFolder()
        try await run(ManifestFile(folder.file("none/m.json"), log: .silent)) { directory in
            try directory.start()
            let service = try FakeService.start(polls, on: bus)
            service.takeDown()
            #expect(await directory.forget("polls").0 == .notWritten)
            #expect(directory.catalog.manifests.isEmpty)
        }
    }
}
