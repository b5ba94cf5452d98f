import Contracts
import Glibc
import JSON
import Reactor
import ServiceKit
import TestSupport
import Testing

@testable import Gateway

@Suite("Learning of services")
struct DirectoryTests {
    private let manifest = Manifest(service: "chat", hasEventLog: true)
    private let bus = LossyBus()
    private let delivered = Arrivals<Int>()
    private let announced = Arrivals<String>()
    private let followed = Arrivals<String>()

    private func run(required: Set<String> = [], _ file: ManifestFile? = nil, _ test: (Directory) async throws -> Void)
        async throws
    {
        let group = try EventLoopGroup(loopCount: 1)
        let directory = Directory(
            required: required, bus: bus, on: group.loops[0], file: file, log: .silent,
            deliver: { [delivered] _, entries in for entry in entries { delivered.add(entry.seq) } },
            onStart: { [followed] stream, _ in followed.add(stream) },
            onAnnouncement: { [announced] in announced.add($0.service) })
        do {
            try await test(directory)
        } catch {
            Issue.record("\(error)")
        }
        await directory.stop()
        await Task.detached { group.shutdown() }.value
    }

    @Test("a log that could not be followed is followed with the next announcement")
    func followedLater() async throws {
        try await run { directory in
            try directory.start()
            bus.refuse(Subject.events(of: "chat"))
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

    @Test("who starts waits until each required service was heard from and its log is followed")
    func settled() async throws {
        try await run(required: ["chat"]) { directory in
            try directory.start()
            async let settled: Void = directory.settle(within: .seconds(60))
            _ = try FakeService.start(manifest, on: bus)
            await settled
            #expect(directory.catalog.isWhole)
            #expect(try await followed.next() == "chat")
        }
    }

    @Test("no longer than it is told: a service may be away")
    func neverSettled() async throws {
        try await run(required: ["chat"]) { directory in
            try directory.start()
            await directory.settle(within: .milliseconds(1))
            #expect(!directory.catalog.isWhole)
        }
    }

    @Test("what the file says already is not written again; what is new is")
    func unchanged() async throws {
        let folder = TemporaryFolder()
        let path = folder.file("m.json")
        let earlier = ManifestFile(path, log: .silent)
        earlier.save([manifest])
        await earlier.close()
        try await run(ManifestFile(path, log: .silent)) { directory in
            try directory.start()
            unlink(path)
            _ = try FakeService.start(manifest, on: bus)
            #expect(try await announced.next(2) == ["chat", "chat"])
        }
        #expect(ManifestFile(path, log: .silent).load().isEmpty)
        try await run(ManifestFile(path, log: .silent)) { directory in
            try directory.start()
            _ = try FakeService.start(manifest, on: bus)
            #expect(try await announced.next() == "chat")
        }
        #expect(ManifestFile(path, log: .silent).load().map(\.service) == ["chat"])
    }
}
