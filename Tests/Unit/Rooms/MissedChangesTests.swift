import ParlorContracts
import ParlorMessageBus
import ParlorServiceKit
import ParlorStorage
import ParlorTestSupport
import Testing

@testable import ParlorRooms

extension Sequence where Element: Hashable {
    /// Each element once, at its first place.
    fileprivate var uniqued: [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}

@Suite("Changes that wait, and changes that keepers have missed", .timeLimit(.minutes(2)))
struct MissedChangesTests {
    /// Removes Carol and then Bob while the keeper is down.
    private func removeWithoutKeeper(_ harness: RoomsHarness, _ keeper: FakeKeeper) async throws -> String {
        let room = try await harness.group(harness.alice, harness.bob, harness.carol)
        _ = try await harness.record(of: room)
        keeper.stop()
        try await harness.remove(harness.carol, from: room, by: harness.alice)
        try await harness.remove(harness.bob, from: room, by: harness.alice)
        #expect(keeper.changes.isEmpty)
        return room
    }

    @Test("a keeper that was down gets what it has missed, in order, before a record of the room")
    func missedBeforeRecord() async throws {
        try await RoomsHarness.serving { harness in
            let keeper = try FakeKeeper("polls.fence", on: harness.bus)
            let room = try await removeWithoutKeeper(harness, keeper)
            keeper.be(silent: true)
            try keeper.start()
            try await harness.expect(.serviceUnavailable) { try await harness.requestRecord(of: room) }
            keeper.be(silent: false)
            _ = try await harness.record(of: room)
            #expect(keeper.fence == 3)
            #expect(keeper.changes.suffix(2).map(\.left.first?.username) == ["carol", "bob"])
        }
    }

    @Test(
        "a keeper that was down gets what it has missed also by itself, and a newer change after that",
        arguments: Engine.allCases)
    func missed(engine: Engine) async throws {
        let folder = TemporaryFolder()
        let database = try engine.open(RoomsService.migrations, in: folder)
        try await RoomsHarness.serving(on: database) { harness in
            let keeper = try FakeKeeper("polls.fence", on: harness.bus)
            let rooms = [
                try await removeWithoutKeeper(harness, keeper), try await removeWithoutKeeper(harness, keeper),
            ]
            try keeper.start()
            _ = try await harness.add(harness.bob, to: rooms[1], by: harness.alice)
            #expect(keeper.changes.filter { $0.roomID == rooms[1] }.map(\.version).uniqued == [2, 3, 4])
            while keeper.changes.filter({ $0.roomID == rooms[0] }).count < 2 { await Task.yield() }
            #expect(keeper.changes.filter { $0.roomID == rooms[0] }.map(\.version).uniqued == [2, 3])
            try await harness.waitUntilNothingIsMissed()
        }
    }

    @Test("what a keeper has missed is delivered by the next run of Rooms")
    func nextRun() async throws {
        let (folder, bus) = (TemporaryFolder(), InProcessBus())
        let keeper = try FakeKeeper("polls.fence", on: bus)
        for run in 1...2 {
            let database = try Engine.file.open(RoomsService.migrations, in: folder)
            try await RoomsHarness.serving(on: database, bus: bus) { harness in
                if run == 1 {
                    _ = try await removeWithoutKeeper(harness, keeper)
                } else {
                    try keeper.start()
                    while keeper.fence < 3 { await Task.yield() }
                    #expect(keeper.changes.map(\.version) == [2, 3])
                }
            }
        }
    }

    @Test("the next change does not wait for a keeper that is still down")
    func stillDown() async throws {
        try await RoomsHarness.serving(patience: .seconds(2)) { harness in
            let keeper = try FakeKeeper("polls.fence", on: harness.bus)
            let room = try await removeWithoutKeeper(harness, keeper)
            let began = ContinuousClock.now
            _ = try await harness.add(harness.carol, to: room, by: harness.alice)
            #expect(.now - began < .seconds(2))
        }
    }

    @Test("a keeper that is forgotten has missed nothing")
    func forgotten() async throws {
        try await RoomsHarness.serving { harness in
            let keeper = try FakeKeeper("polls.fence", on: harness.bus)
            let room = try await removeWithoutKeeper(harness, keeper)
            try harness.forget("polls", .forgotten)
            try await harness.waitUntilNothingIsMissed()
            try keeper.start()
            _ = try await harness.record(of: room)
            #expect(keeper.changes.isEmpty)
        }
    }

    @Test("a keeper that gateways refuse to forget has to confirm; one that they forget has not, even if it hangs")
    func forgettingHung() async throws {
        try await RoomsHarness.serving { harness in
            let (alice, bob) = (harness.alice, harness.bob)
            let room = try await harness.group(alice, bob, harness.carol)
            let keeper = try FakeKeeper("polls.fence", on: harness.bus)
            _ = try await harness.record(of: room)
            keeper.be(silent: true)
            try harness.forget("polls", .announced)
            try await harness.expect(.serviceUnavailable) {
                try await harness.remove(bob, from: room, by: alice, within: .seconds(60))
            }
            async let again = harness.remove(bob, from: room, by: alice)
            try await harness.waitUntilRemovalIsResumed(in: room)
            try harness.forget("polls", .forgotten)
            #expect(try await again.status == .noContent)
        }
    }

    @Test("after an outage, changes of a limited number of rooms are confirmed at once, and others in their order")
    func manyPending() async throws {
        let count = PeopleChanges.maxConfirming + 20
        try await RoomsHarness.serving(["--rate-limits", "off"]) { harness in
            let keeper = try FakeKeeper("polls.fence", on: harness.bus)
            keeper.be(silent: true)
            var rooms: [String] = []
            for _ in 0..<count { rooms.append(try await harness.group(harness.alice, harness.bob)) }
            _ = try await harness.record(of: rooms[0])
            try await harness.database.write { [rooms] connection in
                for room in rooms {
                    let act = PendingChange.Act(
                        kind: .removal, version: 2, by: harness.alice.id,
                        people: [.init(userID: harness.bob.id, username: "bob", firstName: nil)])
                    let store = PendingChangesStore(connection)
                    try store.set(.leaving, of: [harness.bob.id], in: room)
                    try store.put(PendingChange(roomID: room, version: 2, acts: [act]))
                }
            }
            // Each is sent several times.
            while keeper.changes.count < PeopleChanges.maxConfirming * 3 { await Task.yield() }
            #expect(Set(keeper.changes.map(\.roomID)) == Set(rooms.prefix(PeopleChanges.maxConfirming)))
            keeper.be(silent: false)
            while try await harness.database.read({ try !PendingChangesStore($0).roomIDs().isEmpty }) {
                await Task.yield()
            }
            #expect(Set(keeper.changes.map(\.roomID)) == Set(rooms))
        }
    }

    @Test("pending changes are listed in pages")
    func pages() async throws {
        try await RoomsHarness.serving { harness in
            let keeper = try FakeKeeper("polls.fence", on: harness.bus)
            keeper.be(silent: true)
            _ = try await harness.record(of: try await harness.group(harness.alice, harness.bob))
            let rooms = (0..<PageLimits.maxChanges + 5).map { "room-\(10_000 + $0)" }
            try await harness.database.write { connection in
                for room in rooms {
                    try PendingChangesStore(connection).put(PendingChange(roomID: room, version: 2, acts: []))
                }
            }
            let context = BusContext(requestID: "pages", timeout: .seconds(60))
            let listed = try await harness.bus.askForAll(Subject.pendingChanges, context, of: "Rooms") { _ in }
            #expect(listed.compactMap(PeopleChange.init).map(\.roomID) == rooms)
        }
    }
}
