import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import ParlorServiceKitTesting
import ParlorStorage
import ParlorTestSupport
import Testing

@testable import ParlorRooms

@Suite("Changes of a group's people")
struct GroupTests {
    @Test("each keeper confirms a change before it is answered, with who left and the record's version")
    func confirmed() async throws {
        try await RoomsHarness.serving { harness in
            let (alice, bob, carol) = (harness.alice, harness.bob, harness.carol)
            let room = try await harness.group(alice, bob, carol)
            let keeper = try FakeKeeper("polls.fence", on: harness.bus)
            try await harness.remove(bob, from: room, by: alice)
            #expect(keeper.changes.isEmpty, "it has no record yet")
            #expect(try await harness.record(of: room).version == 2)
            _ = try await harness.add(bob, to: room, by: alice)
            try await harness.remove(carol, from: room, by: carol)
            #expect(keeper.changes.map(\.version) == [3, 4])
            #expect(keeper.changes.map(\.joined) == [[bob.id], []])
            #expect(keeper.changes.last?.left.map(\.username) == ["carol"])
            let record = try await harness.record(of: room)
            #expect(record.version == 4 && record.userIDs == [alice.id, bob.id])
        }
    }

    @Test("a live gateway confirms each change as well")
    func gateways() async throws {
        try await RoomsHarness.serving { harness in
            let (alice, bob) = (harness.alice, harness.bob)
            let room = try await harness.group(alice, bob, harness.carol)
            let gateway = try FakeKeeper("gateways.g1.fence", on: harness.bus)
            try harness.bus.publish(Subject.gatewayAlive, JSONWriter.object { $0.member("gateway", "g1") })
            let head = try await harness.database.read { try EventLog.head(on: $0) }
            try await harness.remove(bob, from: room, by: alice)
            #expect(gateway.changes.map(\.version) == [2])
            #expect(gateway.changes.map(\.storedAfter) == [head], "so it knows a fence that was held up on its way")
        }
    }

    @Test(
        "a removal that is not confirmed is 503, hides the room at once, and completes by itself; one more call gets 204"
    )
    func pendingRemoval() async throws {
        try await RoomsHarness.serving { harness in
            let (alice, bob, carol) = (harness.alice, harness.bob, harness.carol)
            let room = try await harness.group(alice, bob, carol)
            let keeper = try FakeKeeper("polls.fence", on: harness.bus)
            _ = try await harness.record(of: room)
            keeper.be(silent: true)
            _ = harness.takeEntries()
            try await harness.expect(.serviceUnavailable) {
                try await harness.remove(carol, from: room, by: alice, within: .seconds(60))
            }
            try await harness.expect(.roomNotFound) { try await harness.get(room, by: carol) }
            #expect(try await harness.list(of: carol).roomIDs == [])
            #expect(try await harness.people(of: room, seenBy: bob) == [alice.id, bob.id])
            #expect(harness.takeEntries().isEmpty, "no event before it is complete")
            async let again = harness.remove(carol, from: room, by: alice)
            try await harness.waitUntilRemovalIsResumed(in: room)
            keeper.be(silent: false)
            #expect(try await again.status == .noContent)
            let entries = harness.takeEntries()
            #expect(entries.map(\.participants) == [[alice.id, bob.id], [carol.id]])
            #expect(
                entries.flatMap(\.emissions).map(\.event) == [
                    "participant:left", "room:updated:global", "room:removed",
                ])
            try await harness.expect(.userNotFound) { try await harness.remove(carol, from: room, by: alice) }
        }
    }

    @Test("who leaves a group, also as the last one, and asks again waits until nobody has to confirm any more")
    func repeatedLeaving() async throws {
        try await RoomsHarness.serving { harness in
            let (alice, bob) = (harness.alice, harness.bob)
            let room = try await harness.group(alice, bob)
            let keeper = try FakeKeeper("polls.fence", on: harness.bus)
            _ = try await harness.record(of: room)
            for person in [bob, alice] {
                keeper.be(silent: true)
                try await harness.expect(.serviceUnavailable) {
                    try await harness.remove(person, from: room, by: person, within: .seconds(60))
                }
                try await harness.expect(.serviceUnavailable) {
                    try await harness.remove(person, from: room, by: person, within: .seconds(60))
                }
                async let again = harness.remove(person, from: room, by: person)
                try await harness.waitUntilRemovalIsResumed(in: room)
                keeper.be(silent: false)
                #expect(try await again.status == .noContent)
                try await harness.expect(.roomNotFound) { try await harness.remove(person, from: room, by: person) }
            }
        }
    }

    @Test("an addition that is not confirmed is 503, and taken back")
    func pendingAddition() async throws {
        try await RoomsHarness.serving { harness in
            let (alice, bob, carol) = (harness.alice, harness.bob, harness.carol)
            let room = try await harness.group(alice, bob)
            let keeper = try FakeKeeper("polls.fence", on: harness.bus)
            _ = try await harness.record(of: room)
            keeper.be(silent: true)
            _ = harness.takeEntries()
            try await harness.expect(.serviceUnavailable) {
                try await harness.add(carol, to: room, by: alice, within: .seconds(60))
            }
            try await harness.expect(.roomNotFound) { try await harness.get(room, by: carol) }
            #expect(try await harness.record(of: room).userIDs == [alice.id, bob.id])
            keeper.be(silent: false)
            // The next change waits until it is taken back.
            _ = try await harness.add(carol, to: room, by: alice)
            #expect(try await harness.people(of: room, seenBy: carol) == [alice.id, bob.id, carol.id])
            #expect(harness.takeEntries().flatMap(\.emissions).filter { $0.event == "participant:joined" }.count == 1)
            #expect(keeper.changes.map(\.version).max() == 4)
        }
    }

    @Test("a removal joins a pending addition, and both are answered")
    func joined() async throws {
        try await RoomsHarness.serving { harness in
            let (alice, bob, carol) = (harness.alice, harness.bob, harness.carol)
            let room = try await harness.group(alice, bob)
            let keeper = try FakeKeeper("polls.fence", on: harness.bus)
            _ = try await harness.record(of: room)
            keeper.be(silent: true)
            async let addition = harness.add(carol, to: room, by: alice)
            while keeper.changes.isEmpty { await Task.yield() }
            async let removal = harness.remove(bob, from: room, by: alice)
            while keeper.changes.isEmpty { await Task.yield() }
            keeper.be(silent: false)
            _ = try await (addition, removal)
            #expect(try await harness.people(of: room, seenBy: alice) == [alice.id, carol.id])
        }
    }

    @Test("an addition that a removal has joined is taken back all the same")
    func takenBack() async throws {
        try await RoomsHarness.serving { harness in
            let (alice, bob, carol) = (harness.alice, harness.bob, harness.carol)
            let room = try await harness.group(alice, bob)
            let keeper = try FakeKeeper("polls.fence", on: harness.bus)
            _ = try await harness.record(of: room)
            keeper.be(silent: true)
            async let addition = failure { try await harness.add(carol, to: room, by: alice, within: .seconds(60)) }
            while keeper.changes.isEmpty { await Task.yield() }
            async let removal = failure {
                try await harness.remove(bob, from: room, by: alice, within: .seconds(60))
            }
            #expect(await addition?.code == .serviceUnavailable)
            #expect(await removal?.code == .serviceUnavailable)
            _ = harness.takeEntries()
            keeper.be(silent: false)
            try await harness.remove(bob, from: room, by: alice)
            #expect(try await harness.people(of: room, seenBy: alice) == [alice.id])
            let events = harness.takeEntries().flatMap(\.emissions).map(\.event)
            #expect(events.filter { $0.hasPrefix("participant") } == ["participant:left"])
        }
    }

    @Test("a pending change is completed by the next start of Rooms")
    func restart() async throws {
        let folder = TemporaryFolder()
        var database = try Engine.lasting[0].open(RoomsService.migrations, in: folder)
        let bus = InProcessBus()
        var room = ""
        let keeper = try FakeKeeper("polls.fence", on: bus)
        try await RoomsHarness.serving(on: database, bus: bus) { harness in
            room = try await harness.group(harness.alice, harness.bob, harness.carol)
            _ = try await harness.record(of: room)
            keeper.be(silent: true)
            try await harness.expect(.serviceUnavailable) {
                try await harness.remove(harness.carol, from: room, by: harness.alice, within: .seconds(60))
            }
        }
        await database.close()
        keeper.be(silent: false)
        database = try Engine.lasting[0].open(RoomsService.migrations, in: folder)
        try await RoomsHarness.serving(on: database, bus: bus) { harness in
            while try await harness.database.read({ [room] in try PendingChangesStore($0).pending(in: room) }) != nil {
                await Task.yield()
            }
            #expect(try await harness.people(of: room, seenBy: harness.bob) == [harness.alice.id, harness.bob.id])
        }
        await database.close()
    }

    @Test("when everybody has left, the room is gone, and a key that made it finds none")
    func last() async throws {
        try await RoomsHarness.serving { harness in
            let alice = harness.alice
            let made = try await harness.ask("rooms.create", by: alice) {
                $0.member("participantIds", [harness.bob.id])
                $0.member("clientRequestId", "key")
            }
            let room = try made.roomID
            try await harness.remove(alice, from: room, by: alice)
            #expect(try await harness.people(of: room, seenBy: harness.bob) == [harness.bob.id])
            _ = harness.takeEntries()
            try await harness.remove(harness.bob, from: room, by: harness.bob)
            #expect(harness.takeEntries().map { $0.fact?.kind } == ["roomDeleted", nil])
            try await harness.expect(.roomNotFound) {
                try await harness.ask("rooms.create", by: alice) {
                    $0.member("participantIds", [harness.bob.id])
                    $0.member("clientRequestId", "key")
                }
            }
            #expect(try await harness.database.read { try $0.exists("SELECT 1 FROM participants") } == false)
        }
    }

    @Test("a keeper with a higher fence has Rooms, which was restored from a backup, raise its version")
    func restored() async throws {
        try await RoomsHarness.serving { harness in
            let room = try await harness.group(harness.alice, harness.bob, harness.carol)
            let keeper = try FakeKeeper("polls.fence", on: harness.bus)
            _ = try await harness.record(of: room)
            keeper.raiseFence(to: 7)
            try await harness.remove(harness.carol, from: room, by: harness.alice)
            #expect(keeper.changes.map(\.version) == [2, 8])
            #expect(try await harness.record(of: room).version == 8)
        }
    }

    @Test("a group without a name is called by its people for other services, a direct room is not")
    func names() async throws {
        try await RoomsHarness.serving { harness in
            let group = try await harness.group(harness.alice, harness.bob, harness.carol)
            let direct = try await harness.room(harness.alice, with: harness.bob)
            let reply = try await harness.ask("rooms.names") { $0.member("roomIds", [direct, group]) }
            #expect(reply.data.text == #"{"names":[null,"Alice & bob & Carol"]}"#)
        }
    }

    @Test("a list shows the first ten of a group and the caller, and the number of all, which follows each change")
    func listed() async throws {
        try await RoomsHarness.serving { harness in
            let others = (1...12).map { number in
                Caller(id: "person-\(100 + number)", username: "p\(number)", firstName: nil)
            }
            for person in others { harness.accounts.add(person) }
            let (alice, first) = (harness.alice, others[0])
            let room = try await harness.group([alice] + others)

            func expect(_ count: Int, _ name: String, _ shown: [Caller], to caller: Caller) async throws {
                let listed = try #require(try await harness.list(of: caller).data.array?.first)
                #expect(listed["participants"]?.array?.map { $0["userId"]?.string } == shown.map(\.id))
                #expect(listed["participantCount"]?.int == count)
                #expect(listed["displayName"]?.string == name)
                let alone = try await harness.ask("rooms.get", by: caller) {
                    $0.member("roomId", room)
                    $0.member("isListed", true)
                }
                #expect(alone.data == listed)
                let names = try await harness.ask("rooms.names") { $0.member("roomIds", [room]) }
                #expect(names.data["names"]?.array?.first?.string == name)
                let counts = try await harness.context.database.read {
                    try RoomsService.differences(in: room, members: [], on: $0).map(\.text)
                }
                #expect(counts == [])
            }
            try await expect(13, "Alice & p1 & p2 +10", [alice] + others[..<9], to: alice)
            try await expect(13, "Alice & p1 & p2 +10", [alice] + others[..<9] + [others[11]], to: others[11])
            try await harness.remove(first, from: room, by: alice)
            try await expect(12, "Alice & p2 & p3 +9", [alice] + others[1..<10], to: others[9])
            _ = try await harness.add(first, to: room, by: alice)
            try await expect(13, "Alice & p2 & p3 +10", [alice] + others[1..<10] + [first], to: first)
        }
    }

    @Test("the people that somebody brings into groups are limited in an hour")
    func additions() async throws {
        try await RoomsHarness.serving(["--rate-adds", "3/1h"]) { harness in
            let (alice, bob, carol) = (harness.alice, harness.bob, harness.carol)
            let room = try await harness.group(alice, bob, carol)
            try await harness.remove(bob, from: room, by: alice)
            _ = try await harness.add(bob, to: room, by: alice)
            try await harness.remove(bob, from: room, by: alice)
            let refusal = await failure { try await harness.add(bob, to: room, by: alice) }
            #expect(refusal?.code == .rateLimited && (1...3600).contains(refusal?.retryAfter ?? 0))
            #expect(try await harness.people(of: room, seenBy: alice) == [alice.id, carol.id])
            harness.clock.advance(by: .seconds(3601))
            _ = try await harness.add(bob, to: room, by: alice)
        }
    }
}
