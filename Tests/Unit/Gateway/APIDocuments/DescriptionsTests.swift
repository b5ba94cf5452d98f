import Contracts
import EventLog
import JSON
import MessageBus
import Reactor
import TestSupport
import Testing

@testable import APIDocuments
@testable import GatewayCatalog

/// No log is followed here.
private struct NoLogs: LogReceiver {
    func start(_ stream: String, after position: LogPosition) {}
    func receive(_ entries: [LogEntry], of stream: String) {}
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
        let directory = Directory(
            required: [], bus: bus, on: group.loops[0], file: nil, log: log.logger, logs: NoLogs(),
            onAnnouncement: { _ in })
        let services = RequestForwarder(bus: bus, directory: directory, requestTimeout: .seconds(4), log: log.logger)
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
            #expect(await descriptions.all(in: catalog(nil)).0.isEmpty, "a request would be unexpected")
            let asked = Collector<String>()
            dice.on("dice.describe") { request in
                asked.add(request.subject)
                request.reply(describe("\(asked.items.count)").json)
            }
            for (digest, summary) in [("a", "1"), ("a", "1"), ("b", "2"), ("b", "2")] {
                let (found, isComplete) = await descriptions.all(in: catalog(digest))
                #expect(found["dice"]?.requests["dice.list"]?.summary == summary && isComplete)
            }
            #expect(asked.items.count == 2)
        }
    }

    @Test("a service that is away is asked again")
    func away() async throws {
        try await run { descriptions, dice in
            dice.on("dice.describe", error: .unavailable("It"))
            let (none, isComplete) = await descriptions.all(in: catalog("a"))
            #expect(none.isEmpty && !isComplete)
            dice.on("dice.describe", reply: describe("Lists."))
            #expect(await descriptions.all(in: catalog("a")).0["dice"]?.requests.count == 1)
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
                    let (found, isComplete) = await descriptions.all(in: catalog("a"))
                    #expect(found["dice"]?.isEmpty == true && isComplete)
                }
                #expect(log.lines.count == before + 1)
            }
        }
    }
}
