import GatewayTesting
import Glibc
import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorReactor
import ParlorServiceClient
import ParlorServiceKit
import ParlorTestSupport
import Testing

@testable import ParlorGatewayCatalog

/// The logs that are followed, or no longer, and the entries' numbers.
private struct FollowedLogs: LogReceiver {
    let delivered: Arrivals<Int>
    let followed: Arrivals<String>

    func start(_ logID: LogID, after position: LogPosition) { followed.add(logID.name) }

    func end(_ logID: LogID) { followed.add("no longer \(logID)") }

    func receive(_ entries: [LogEntry], of logID: LogID) { for entry in entries { delivered.add(entry.seq) } }
}

@Suite("Discovering services")
struct DirectoryTests {
    private let manifest = Manifest(service: "chat", hasEventLog: true)
    let bus = FakeBus()
    private let delivered = Arrivals<Int>()
    let announced = Arrivals<String>()
    private let followed = Arrivals<String>()
    let forgottenServices = Arrivals<String>()
    let log = CapturedLog()
    let clock = ManualClock()

    private func known(_ manifests: Manifest...) -> [KnownManifest] {
        manifests.map { KnownManifest(manifest: $0, announcedAt: clock.now()) }
    }

    func announce(_ manifest: Manifest, on subject: String) throws { try announce(manifest.json, on: subject) }

    func announce(_ manifest: JSONValue, on subject: String) throws {
        try bus.publish(
            subject,
            JSONWriter.object {
                $0.member("head", object: { LogPosition(databaseID: "x", seq: 0, digest: 0).writeMembers(to: &$0) })
                $0.member("manifest", manifest)
            })
    }

    func run(
        _ file: ManifestFile? = nil, required: Set<String> = [], _ test: (Directory) async throws -> Void
    ) async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let directory = Directory(
            catalog: Catalog(required: required), bus: bus, on: group.loops[0], file: file, clock: clock,
            log: log.logger, faults: ReplyFaults(log: log.logger),
            announcementPause: .zero, logs: FollowedLogs(delivered: delivered, followed: followed),
            onAnnouncement: { [announced] in announced.add($0.service) },
            onForgotten: { [forgottenServices] in forgottenServices.add($0) })
        do {
            try await test(directory)
        } catch {
            Issue.record("\(error)")
        }
        await directory.stop()
        await finish(group)
    }

    @Test(
        "a service that offers another's routes is refused until the other no longer has them", .timeLimit(.minutes(1)))
    func claims() async throws {
        try await run { directory in
            try directory.start()
            let people = try FakeService.start(Manifest(service: "people", logsEndedSessions: true), on: bus)
            #expect(try await announced.next() == "people")
            let thief = Manifest(service: "chat", hasEventLog: true, logsEndedSessions: true)
            let chat = try FakeService.start(thief, on: bus)
            // What is announced after it comes after it.
            _ = try FakeService.start(Manifest(service: "other"), on: bus)
            #expect(try await announced.next() == "other")
            #expect(directory.catalog.manifests["chat"] == nil)
            #expect(log.text.contains("service rejected: another service already has what it claims"))
            people.stop()
            _ = try FakeService.start(Manifest(service: "people"), on: bus)
            #expect(try await announced.next() == "people")
            chat.announce()
            #expect(try await announced.next() == "chat")
            #expect(directory.catalog.manifests["chat"] == thief)
        }
    }

    @Test("the logs of a service that now has others are ended, and the others are followed", .timeLimit(.minutes(1)))
    func otherLogs() async throws {
        try await run(required: ["chat"]) { directory in
            try directory.start()
            let chat = try FakeService.start(manifest, on: bus)
            #expect(try await followed.next() == "chat")
            let two = LogLayout(generation: 1, count: 2)
            for (before, layout) in [(LogLayout.single, two), (two, LogLayout(generation: 2, count: 3))] {
                chat.spread(over: layout)
                var ended: Set<String> = []
                for _ in before.numbers { ended.insert(try await followed.next()) }
                #expect(ended == Set(before.logs(of: "chat").map { "no longer \($0)" }))
                var begun: Set<String> = []
                for _ in layout.numbers { begun.insert(try await followed.next()) }
                #expect(begun == Set(layout.logs(of: "chat").map(\.name)))
                #expect(directory.catalog.logs == layout.logs(of: "chat"))
            }
        }
    }

    @Test("a service that is not required cannot have other logs again and again", .timeLimit(.minutes(1)))
    func otherLogsAgain() async throws {
        try await run { directory in
            try directory.start()
            let chat = try FakeService.start(manifest, on: bus)
            #expect(try await followed.next() == "chat")
            for generation in 1...3 { chat.spread(over: LogLayout(generation: generation, count: 1)) }
            _ = try FakeService.start(Manifest(service: "other"), on: bus)
            while try await announced.next() != "other" {}
            #expect(directory.catalog.logs == [LogID("chat", 100)])
        }
    }

    @Test("a refused service gets a request with the reason", .timeLimit(.minutes(1)))
    func refusal() async throws {
        try await run { directory in
            try directory.start()
            let refused = Arrivals<String>()
            let people = Manifest(service: "people", routes: [Route("POST", "/login", "people.in")])
            _ = try FakeService.start(people, on: bus)
            #expect(try await announced.next() == "people")
            let thief = Manifest(service: "chat", routes: [Route("POST", "/login", "chat.in")])
            let chat = FakeService.down(thief, on: bus)
            chat.on(Subject.refusal(of: "chat")) { request in
                refused.add("\(request.data["what"]?.string ?? "") of \(request.data["of"]?.string ?? "")")
                request.reply(Reply().json)
            }
            try chat.bringUp()
            #expect(try await refused.next() == "POST /login of people")
            #expect(directory.catalog.manifests.keys.sorted() == ["people"])
        }
    }

    @Test("a required service takes its routes over from an optional one that came first", .timeLimit(.minutes(1)))
    func requiredFirst() async throws {
        try await run(required: ["accounts", "rooms"]) { directory in
            try directory.start()
            let thief = Manifest(service: "thief", routes: [Route("POST", "/login", "thief.in")])
            let early = try FakeService.start(thief, on: bus)
            #expect(try await announced.next() == "thief")
            let accounts = Manifest(service: "accounts", routes: [Route("POST", "/login", "accounts.in")])
            _ = try FakeService.start(accounts, on: bus)
            #expect(try await announced.next() == "accounts")
            #expect(try await forgottenServices.next() == "thief")
            #expect(directory.catalog.manifests == ["accounts": accounts])
            early.announce()
            // Of two that are required the first keeps it.
            let rooms = Manifest(service: "rooms", routes: [Route("POST", "/login", "rooms.in")])
            _ = try FakeService.start(rooms, on: bus)
            _ = try FakeService.start(Manifest(service: "last"), on: bus)
            #expect(try await announced.next() == "last")
            #expect(directory.catalog.manifests.keys.sorted() == ["accounts", "last"])
        }
    }

    @Test(
        "an announcement with a reserved name is refused",
        arguments: ["gateway", "gateways", "services"])
    func reserved(name: String) async throws {
        try await run { directory in
            try directory.start()
            try announce(Manifest(service: name), on: Subject.announce(of: name))
            try announce(Manifest(service: "good"), on: Subject.announce(of: "good"))
            #expect(try await announced.next() == "good")
            #expect(directory.catalog.manifests.keys.sorted() == ["good"])
            #expect(log.text.contains("its name is reserved"))
        }
    }

    @Test("a log that could not be followed is followed at the next announcement")
    func followedLater() async throws {
        try await run { directory in
            try directory.start()
            bus.refuse(Subject.log(of: "chat"))
            let chat = try FakeService.start(manifest, on: bus)
            #expect(try await announced.next() == "chat")
            #expect(directory.catalog.manifests["chat"] != nil)
            chat.emit([])
            bus.refuse(nil)
            chat.announce()
            chat.emit([])
            #expect(try await delivered.next() == 2)
        }
    }

    @Test("a start waits until each service has announced itself and its log is followed", .timeLimit(.minutes(1)))
    func settled() async throws {
        try await run { directory in
            try directory.start()
            let settling = Task.immediate { [followed] in
                let missing = await directory.settle(with: ["chat", "people"], within: .seconds(600))
                followed.add("settled")
                return missing
            }
            _ = try FakeService.start(Manifest(service: "people"), on: bus)
            #expect(try await announced.next() == "people")
            _ = try FakeService.start(manifest, on: bus)
            #expect(try await followed.next(2) == ["chat", "settled"])
            #expect(await settling.value.isEmpty)
        }
    }

    @Test("a manifest from the file does not count as an announcement", .timeLimit(.minutes(1)))
    func onlyInTheFile() async throws {
        let folder = TemporaryFolder()
        let earlier = ManifestFile(folder.file("m.json"), log: .silent)
        earlier.save(known(Manifest(service: "chat", hasEventLog: true), Manifest(service: "people")))
        await earlier.close()
        try await run(ManifestFile(folder.file("m.json"), log: .silent)) { directory in
            try directory.start()
            #expect(directory.catalog.manifests["people"] != nil)
            #expect(await directory.settle(with: ["people"], within: .zero) == ["people", "chat"])
        }
    }

    @Test("a start waits no longer than its limit, and ends when it is cancelled", .timeLimit(.minutes(1)))
    func neverSettled() async throws {
        try await run { directory in
            try directory.start()
            #expect(await directory.settle(with: ["chat"], within: .milliseconds(1)) == ["chat"])
            let settling = Task { await directory.settle(with: ["chat"], within: .seconds(600)) }
            settling.cancel()
            #expect(await settling.value == ["chat"])
        }
    }

    @Test("a log without a subscription has no follower", .timeLimit(.minutes(1)))
    func unfollowed() async throws {
        try await run { directory in
            try directory.start()
            bus.refuse(Subject.log(of: "chat"))
            let chat = try FakeService.start(manifest, on: bus)
            #expect(try await announced.next() == "chat")
            #expect(await directory.settle(with: ["chat"], within: .zero) == ["chat"])
            bus.refuse(nil)
            chat.announce()
            #expect(await directory.settle(with: ["chat"], within: .seconds(600)).isEmpty)
            followed.add("no other")
            #expect(try await followed.next(2) == ["chat", "no other"])
        }
    }

    @Test("a manifest that is already in the file is not written again; a new one is")
    func unchanged() async throws {
        let folder = TemporaryFolder()
        let path = folder.file("m.json")
        let earlier = ManifestFile(path, log: .silent)
        earlier.save(known(manifest))
        await earlier.close()
        try await run(ManifestFile(path, log: .silent)) { directory in
            try directory.start()
            unlink(path)
            _ = try FakeService.start(manifest, on: bus)
            #expect(try await announced.next(2) == ["chat", "chat"])
        }
        #expect(ManifestFile(path, log: .silent).load(at: clock.now()).isEmpty)
        try await run(ManifestFile(path, log: .silent)) { directory in
            try directory.start()
            _ = try FakeService.start(manifest, on: bus)
            #expect(try await announced.next() == "chat")
        }
        #expect(ManifestFile(path, log: .silent).load(at: clock.now()).map(\.manifest.service) == ["chat"])
    }

    // MARK: Forgetting

    @Test(
        "a service without an announcement for a day is forgotten, in the file too, and may return"
    )
    func forgetting() async throws {
        let folder = TemporaryFolder()
        let file = ManifestFile(folder.file("m.json"), log: .silent)
        try await run(file) { directory in
            try directory.start()
            let chat = try FakeService.start(manifest, on: bus)
            let people = try FakeService.start(Manifest(service: "people"), on: bus)
            defer { people.takeDown() }
            chat.takeDown()
            directory.sweep()
            clock.advance(by: Directory.lifetime)
            directory.sweep()
            #expect(directory.catalog.manifests.keys.sorted() == ["chat", "people"])
            clock.advance(by: .milliseconds(1))
            directory.sweep()
            #expect(directory.catalog.manifests.keys.sorted() == ["people"])
            #expect(try await forgottenServices.next() == "chat")
            try chat.bringUp()
            #expect(directory.catalog.manifests.keys.sorted() == ["chat", "people"])
            chat.emit([])
            #expect(try await delivered.next() == 1)
            chat.takeDown()
            directory.sweep()
            clock.advance(by: Directory.lifetime + .seconds(1))
            directory.sweep()
        }
        #expect(
            ManifestFile(folder.file("m.json"), log: .silent).load(at: clock.now()).map(\.manifest.service) == [
                "people"
            ])
    }

    @Test(
        "a service in the file is forgotten after a day of silence in all, over restarts, and only once asked"
    )
    func forgettingOverRestarts() async throws {
        let folder = TemporaryFolder()
        let path = folder.file("m.json")
        let earlier = ManifestFile(path, log: .silent)
        earlier.save(known(manifest))
        await earlier.close()
        clock.advance(by: Directory.lifetime + .seconds(1))
        try await run(ManifestFile(path, log: .silent)) { directory in
            try directory.start()
            directory.sweep()
            #expect(directory.catalog.manifests.keys.sorted() == ["chat"])
            directory.sweep()
            #expect(directory.catalog.manifests.isEmpty)
        }
        #expect(ManifestFile(path, log: .silent).load(at: clock.now()).isEmpty)
    }

    enum Removal: CaseIterable { case silence, operatorsRequest, claim, noLog }

    @Test(
        "the log of a removed service is no longer followed, until the service returns", .timeLimit(.minutes(1)),
        arguments: Removal.allCases)
    func removedLog(by removal: Removal) async throws {
        try await run(required: ["accounts"]) { directory in
            try directory.start()
            func routes(_ subject: String) -> [Route] { [Route("POST", "/login", subject)] }
            let chat = try FakeService.start(
                Manifest(service: "chat", routes: routes("chat.in"), hasEventLog: true), on: bus)
            #expect(try await followed.next() == "chat")
            switch removal {
            case .silence:
                chat.takeDown()
                directory.sweep()
                clock.advance(by: Directory.lifetime + .seconds(1))
                directory.sweep()
            case .operatorsRequest:
                chat.takeDown()
                #expect(await directory.forget("chat").0 == .forgotten)
            case .claim:
                let accounts = Manifest(service: "accounts", routes: routes("accounts.in"))
                defer { chat.announce(Manifest(service: "chat", hasEventLog: true)) }
                _ = try FakeService.start(accounts, on: bus)
                chat.emit([])
            case .noLog:
                chat.announce(Manifest(service: "chat"))
            }
            if removal != .claim {
                chat.emit([])
                chat.announce()
            }
            #expect(try await followed.next(2) == ["no longer chat", "chat"])
            chat.emit([])
            #expect(try await delivered.next() == 2, "the first was emitted while its service was removed")
            chat.stop()
        }
    }

    @Test("a required service is not forgotten, however long it is down")
    func requiredStays() async throws {
        try await run(required: ["chat"]) { directory in
            try directory.start()
            for manifest in [manifest, Manifest(service: "people")] {
                try FakeService.start(manifest, on: bus).takeDown()
            }
            directory.sweep()
            clock.advance(by: Directory.lifetime + .seconds(1))
            directory.sweep()
            #expect(directory.catalog.manifests.keys.sorted() == ["chat"])
            #expect(directory.catalog.isWhole)
        }
    }

    @Test("a clock set forward by days makes the gateway forget no service that is there")
    func clockSetForward() async throws {
        try await run { directory in
            try directory.start()
            let people = try FakeService.start(Manifest(service: "people"), on: bus)
            defer { people.takeDown() }
            directory.sweep()
            for _ in 0..<3 {
                clock.advance(by: .seconds(400_000))
                directory.sweep()
            }
            #expect(directory.catalog.manifests.keys.sorted() == ["people"])
        }
    }
}
