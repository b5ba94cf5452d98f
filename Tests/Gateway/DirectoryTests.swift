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

    private func run(_ file: ManifestFile? = nil, _ test: (Directory) async throws -> Void) async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let directory = Directory(
            required: [], bus: bus, on: group.loops[0], file: file, log: .silent,
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

    @Test("who starts waits until each service was heard from and its log is followed", .timeLimit(.minutes(1)))
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

    @Test("what the file says of a service is not its own word", .timeLimit(.minutes(1)))
    func onlyInTheFile() async throws {
        let folder = TemporaryFolder()
        let earlier = ManifestFile(folder.file("m.json"), log: .silent)
        earlier.save([Manifest(service: "chat", hasEventLog: true), Manifest(service: "people")])
        await earlier.close()
        try await run(ManifestFile(folder.file("m.json"), log: .silent)) { directory in
            try directory.start()
            #expect(directory.catalog.manifests["people"] != nil)
            #expect(await directory.settle(with: ["people"], within: .zero) == ["people", "chat"])
        }
    }

    @Test("a start waits no longer than it is told, nor when it is given up", .timeLimit(.minutes(1)))
    func neverSettled() async throws {
        try await run { directory in
            try directory.start()
            #expect(await directory.settle(with: ["chat"], within: .milliseconds(1)) == ["chat"])
            let settling = Task { await directory.settle(with: ["chat"], within: .seconds(600)) }
            settling.cancel()
            #expect(await settling.value == ["chat"])
        }
    }

    @Test("a log without a subscription has nobody who follows it", .timeLimit(.minutes(1)))
    func unfollowed() async throws {
        try await run { directory in
            try directory.start()
            bus.refuse(Subject.events(of: "chat"))
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
