import Foundation
import ParlorContracts
import ParlorJSON
import ParlorServiceKit
import ParlorTestSupport
import ParlorWorkers
import Testing

@testable import ParlorGatewayCatalog

@Suite("Manifests on disk")
struct ManifestFileTests {
    private let folder = TemporaryFolder()
    private static let then = Timestamp(milliseconds: 1_700_000_000_123)
    private static let now = Timestamp(milliseconds: 1_800_000_000_000)

    private func known(_ manifests: [Manifest]) -> [KnownManifest] {
        manifests.map { KnownManifest(manifest: $0, announcedAt: Self.then) }
    }

    @Test("saved manifests are loaded, by another gateway too")
    func saved() async {
        let manifests = [
            Manifest(service: "a", routes: [Route("GET", "/api/a/:id", "a.get", needsLogin: false, answer: .room)]),
            Manifest(
                service: "b", socketEvents: [SocketEvent("b:do", "b.do", ackName: "b", ackCopies: [("id", "bId")])],
                contribution: Contribution(subject: "b.contribute", fields: [.init("n", .laterTime, zero: .null)])),
        ]
        let file = ManifestFile(folder.file("m.json"), log: .silent)
        file.save(known(manifests))
        await file.close()
        let loaded = ManifestFile(folder.file("m.json"), log: .silent).load(at: Self.now)
        #expect(loaded.map(\.manifest.json) == manifests.map(\.json))
        #expect(loaded.map(\.announcedAt) == [Self.then, Self.then])
    }

    @Test("a file of an earlier version, without times, counts as announced now")
    func untimed() throws {
        let json = JSONWriter.value { $0.array { $0.value(Manifest(service: "a").json) } }
        try Data(json.bytes).write(to: folder.url.appending(path: "m.json"))
        let loaded = ManifestFile(folder.file("m.json"), log: .silent).load(at: Self.now)
        #expect(loaded.map(\.manifest.service) == ["a"] && loaded.map(\.announcedAt) == [Self.now])
    }

    @Test("a later save replaces the whole file")
    func replaced() async {
        let file = ManifestFile(folder.file("m.json"), log: .silent)
        file.save(known(["a", "b", "c"].map { Manifest(service: $0) }))
        file.save(known([Manifest(service: "d")]))
        await file.close()
        #expect(file.load(at: Self.now).map(\.manifest.service) == ["d"])
    }

    @Test("a missing or unusable file loads as nothing", arguments: [nil, "", "{", "{}", "[1,{\"x\":2}]"])
    func useless(content: String?) throws {
        if let content { try Data(content.utf8).write(to: folder.url.appending(path: "m.json")) }
        #expect(ManifestFile(folder.file("m.json"), log: .silent).load(at: Self.now).isEmpty)
    }

    @Test("a missing folder causes a warning, and nothing else")
    func unwritable() async {
        let log = CapturedLog()
        let file = ManifestFile(folder.file("none/m.json"), log: log.logger)
        file.save(known([Manifest(service: "a")]))
        await file.close()
        #expect(log.text.contains("manifest cache not written") && file.load(at: Self.now).isEmpty)
    }

    @Test("a slow disk delays nobody")
    func slow() async throws {
        let path = folder.file("m.json")
        // Opening a pipe blocks until somebody opens its other end.
        try #require(mkfifo("\(path).new", 0o600) == 0)
        let file = ManifestFile(path, temporary: "\(path).new", log: .silent)
        file.save(known([Manifest(service: "a")]))
        let workers = WorkerPool(threads: 1, maxWaiting: 1)
        let written = try await workers.run {
            let end = open("\(path).new", O_RDONLY)
            defer { close(end) }
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = read(end, &buffer, buffer.count)
            return Array(buffer.prefix(max(count, 0)))
        }
        #expect(try JSONValue(parsing: written).array?.first?["service"]?.string == "a")
        await file.close()
        await workers.close()
    }
}
