import GatewayTesting
import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceClient
import ParlorTestSupport
import Testing

@testable import ParlorAPIDocuments
@testable import ParlorGatewayCatalog

/// No log is followed here.
private struct NoLogs: LogReceiver {
    func start(_ logID: LogID, after position: LogPosition) {}
    func receive(_ entries: [LogEntry], of logID: LogID) {}
    func end(_ logID: LogID) {}
}

@Suite("Asking services for their descriptions")
struct DescriptionsTests {
    private let bus = InProcessBus()
    private let log = CapturedLog()

    private func manifest(_ digest: String?) -> Manifest {
        var manifest = Manifest(service: "dice", routes: [Route("GET", "/api/dice", "dice.list")])
        manifest.descriptionDigest = digest
        return manifest
    }

    private func catalog(_ digest: String?) -> Catalog { Catalog(required: []).adding(manifest(digest)) }

    private func run(_ test: (Descriptions, FakeService) async throws -> Void) async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let faults = ReplyFaults(log: log.logger)
        let directory = Directory(
            catalog: Catalog(required: []), bus: bus, on: group.loops[0], file: nil, log: log.logger, faults: faults,
            logs: NoLogs(), onAnnouncement: { _ in })
        let services = RequestForwarder(
            bus: bus, directory: directory, requestTimeout: .seconds(4), faults: faults)
        let dice = try FakeService.start(manifest(nil), on: bus)
        try await withCleanup {
            try await test(Descriptions(services, log.logger), dice)
        } _: {
            dice.stop()
            await finish(group)
        }
    }

    private func describe(_ summary: String) -> Reply {
        Reply(.ok, ServiceDescription(requests: ["dice.list": RequestDescription(summary)]).json)
    }

    @Test("a service is asked once for each digest in its manifest, and never without one")
    func once() async throws {
        try await run { descriptions, dice in
            #expect(await descriptions.fetch(for: catalog(nil)), "a request would be unexpected")
            #expect(descriptions.parsed.isEmpty)
            let asked = Collector<String>()
            dice.on("dice.describe") { request in
                asked.add(request.data["description"]?.string ?? "")
                request.reply(describe("\(asked.items.count)").json)
            }
            for (digest, summary) in [("a", "1"), ("a", "1"), ("b", "2"), ("b", "2")] {
                #expect(await descriptions.fetch(for: catalog(digest)))
                #expect(descriptions.parsed["dice"]?.requests["dice.list"]?.summary == summary)
            }
            #expect(asked.items == ["a", "b"])
        }
    }

    @Test("a service that is down is asked again")
    func away() async throws {
        try await run { descriptions, dice in
            dice.on("dice.describe", error: .unavailable("It"))
            #expect(await !descriptions.fetch(for: catalog("a")))
            #expect(descriptions.parsed.isEmpty)
            dice.on("dice.describe", reply: describe("Lists."))
            #expect(await descriptions.fetch(for: catalog("a")))
            #expect(descriptions.parsed["dice"]?.requests.count == 1)
        }
    }

    @Test("all descriptions together have a limit, with one line in the log; a required service's are always kept")
    func limit() async throws {
        let text = String(repeating: "x", count: ServiceDescription.maxBytes - 100)
        let large = JSONWriter.object { $0.member("x", text) }
        let names = (1...10).map { "plugin\($0)" }
        var catalog = Catalog(required: ["dice"])
        for name in names + ["dice"] {
            var manifest = Manifest(service: name)
            manifest.descriptionDigest = "a"
            catalog = catalog.adding(manifest)
        }
        try await run { [catalog] descriptions, dice in
            let plugins = try names.map { try FakeService.start(Manifest(service: $0), on: bus) }
            defer { for plugin in plugins { plugin.stop() } }
            for (name, plugin) in zip(names, plugins) { plugin.on("\(name).describe", reply: Reply(.ok, large)) }
            dice.on("dice.describe", error: .unavailable("It"))
            #expect(await !descriptions.fetch(for: catalog))
            dice.on("dice.describe", reply: describe("Lists."))
            #expect(await descriptions.fetch(for: catalog))
            #expect(descriptions.parsed["dice"]?.requests.count == 1)
            let kept = Descriptions.maxBytes / large.bytes.count
            #expect(log.lines.count { $0.contains("too large") } == names.count - kept)
            #expect(await descriptions.fetch(for: catalog), "a request would repeat a line")
            #expect(log.lines.count { $0.contains("too large") } == names.count - kept)
        }
    }

    @Test("a description that is none, too large or refused is ignored, with one line in the log")
    func ignored() async throws {
        let large = JSONWriter.object { $0.member("x", String(repeating: "x", count: ServiceDescription.maxBytes)) }
        for reply in [Reply(.ok, .emptyArray).json, Reply(.ok, large).json, ServiceError(.forbidden, "No.").json] {
            try await run { descriptions, dice in
                let before = log.lines.count
                dice.on("dice.describe") { $0.reply(reply) }
                for _ in 1...3 {
                    #expect(await descriptions.fetch(for: catalog("a")))
                    #expect(descriptions.parsed["dice"]?.isEmpty == true)
                }
                #expect(log.lines.count == before + 1)
            }
        }
    }
}
