import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorServiceKitTesting
import Testing

@testable import ParlorRooms

@Suite("Reading rooms")
struct ReadingRoomsTests {
    @Test("a room looks the same to all its participants, and missing to others")
    func get() async throws {
        try await RoomsHarness.serving { harness in
            let created = try await harness.create(harness.alice, with: harness.bob)
            let id = try created.roomID
            for person in [harness.alice, harness.bob] {
                #expect(try await harness.get(id, by: person).data == created.data)
            }
            #expect(await failure { try await harness.get(id, by: harness.carol) } == .roomNotFound)
            for id in ["none", "", "nul\0", "' OR 1=1 --"] {
                #expect(await failure { try await harness.get(id, by: harness.alice) } == .roomNotFound)
            }
        }
    }

    @Test("a list has the caller's rooms, newest first, each as it is when read alone")
    func list() async throws {
        try await RoomsHarness.serving { harness in
            var ids: [String] = []
            for other in [harness.bob, harness.carol, harness.bob] {
                ids.append(try await harness.room(harness.alice, with: other, name: "\(ids.count)"))
                harness.clock.advance(by: .seconds(1))
            }
            let list = try await harness.list(of: harness.alice)
            #expect(list.roomIDs == ids.reversed() && list.page == nil)
            let newest = try await harness.get(ids[2], by: harness.alice)
            #expect(list.data.array?.first == newest.data)
            #expect(try await harness.list(of: harness.bob).roomIDs == [ids[2], ids[0]])
            #expect(try await harness.list(of: harness.alice, cursor: ids[2]).roomIDs == [ids[1], ids[0]])
            #expect(try await harness.list(of: harness.alice, cursor: ids[0]).roomIDs == [])
            #expect(await failure { try await harness.ask("rooms.list") }?.code == .unauthenticated)
        }
    }

    @Test("the snapshot for other services has all rooms as they are when read, by id, and the log's position")
    func snapshot() async throws {
        try await RoomsHarness.serving { harness in
            var rooms: [JSONValue] = []
            for other in [harness.bob, harness.carol, harness.bob] {
                rooms.append(try await harness.create(harness.alice, with: other).data)
                harness.clock.advance(by: .seconds(1))
            }
            var items: [JSONValue] = []
            let client = LogClient(harness.bus, requestID: "test", owner: "Rooms")
            let position = try await client.forEachSnapshotPage(of: RoomsService.logID) { items += $0.items }
            #expect(items == rooms)
            #expect(try await position == EventLog(harness.database).position())
        }
    }

    @Test("rooms by person list each person once, with the addresses that Accounts shows to roommates")
    func byPerson() async throws {
        try await RoomsHarness.serving { harness in
            for other in [harness.bob, harness.carol, harness.bob] {
                _ = try await harness.room(harness.alice, with: other)
            }
            let reply = try await harness.ask("rooms.by-person", by: harness.alice)
            let listed = try await harness.list(of: harness.alice)
            #expect(reply.data["rooms"] == listed.data)
            let people = try #require(reply.data["people"]?.array).compactMap(Person.init)
            #expect(
                people.sorted { $0.id < $1.id } == [
                    Person(id: harness.bob.id, username: "bob", firstName: nil, email: "bob@example.org"),
                    Person(id: harness.carol.id, username: "carol", firstName: "Carol", email: "carol@example.org"),
                ])

            harness.accounts.takeDown()
            let without = try await harness.ask("rooms.by-person", by: harness.alice)
            #expect(without.data["rooms"] == listed.data)
            let nameless = try #require(without.data["people"]?.array).compactMap(Person.init)
            #expect(nameless.map(\.username).sorted() == ["bob", "carol"])
            #expect(nameless.allSatisfy { $0.email == nil })
        }
    }

    @Test("rooms by person do not wait for Accounts again right after it has not answered")
    func hangingAccounts() async throws {
        try await RoomsHarness.serving { harness in
            _ = try await harness.room(harness.alice, with: harness.bob)
            harness.accounts.hang()
            for _ in 0..<5 {
                let reply = try await harness.ask("rooms.by-person", by: harness.alice)
                #expect(reply.data["rooms"]?.array?.count == 1)
            }
            #expect(harness.accounts.unansweredCount == 1)
            harness.clock.advance(by: AddressRequests.pause)
            _ = try await harness.ask("rooms.by-person", by: harness.alice)
            #expect(harness.accounts.unansweredCount == 2)
        }
    }

    @Test("after a request with little time left, others still ask Accounts", .timeLimit(.minutes(1)))
    func littleTime() async throws {
        try await RoomsHarness.serving { harness in
            _ = try await harness.room(harness.alice, with: harness.bob)
            harness.accounts.hang()
            while harness.accounts.unansweredCount < 2 {
                // The time may be over before Rooms has answered.
                _ = try? await harness.ask(
                    "rooms.by-person", by: harness.alice, .emptyObject, timeout: .milliseconds(50))
            }
        }
    }

    @Test("a person without rooms has empty lists")
    func newcomer() async throws {
        try await RoomsHarness.serving { harness in
            #expect(try await harness.list(of: harness.carol).data == .emptyArray)
            let grouped = try await harness.ask("rooms.by-person", by: harness.carol)
            #expect(grouped.data.text == #"{"rooms":[],"people":[]}"#)
        }
    }
}

@Suite("What other services ask of rooms")
struct ServiceRequestsTests {
    @Test("the participants of a room are given to any service")
    func membership() async throws {
        try await RoomsHarness.serving { harness in
            let id = try await harness.room(harness.alice, with: harness.bob)
            let reply = try await harness.ask("rooms.membership") { $0.member("roomId", id) }
            let membership = try #require(Membership(reply.data))
            #expect(membership.roomID == id && membership.userIDs == [harness.alice.id, harness.bob.id])
            for id in ["none", "nul\0"] {
                let error = await failure { try await harness.ask("rooms.membership") { $0.member("roomId", id) } }
                #expect(error == .roomNotFound)
            }
        }
    }

    @Test("those of some people who share a room with a person are found, in a direct room or a group")
    func roommates() async throws {
        try await RoomsHarness.serving { harness in
            let (alice, bob, carol) = (harness.alice, harness.bob, harness.carol)
            let stranger = Caller(id: "00000000-0000-7000-8000-00000000000d", username: "dave", firstName: nil)
            for other in [bob, bob] { _ = try await harness.room(alice, with: other) }
            _ = try await harness.group(alice, carol)
            func roommates(_ id: String, among ids: [String]) async throws -> [String]? {
                let reply = try await harness.ask("rooms.roommates") {
                    $0.member("userId", id)
                    $0.member("among", ids)
                }
                return reply.data.list(of: \.string)?.sorted()
            }
            let all = [alice, bob, carol].map(\.id)
            #expect(try await roommates(alice.id, among: [bob, carol, stranger].map(\.id)) == [bob.id, carol.id])
            #expect(try await roommates(alice.id, among: [carol.id, "nobody"]) == [carol.id])
            #expect(try await roommates(alice.id, among: []) == [])
            #expect(try await roommates(stranger.id, among: all) == [])
            #expect(try await roommates("nobody", among: all) == [])
        }
    }

    @Test("room names are in the requested order, and null for an unnamed or unknown room")
    func names() async throws {
        try await RoomsHarness.serving { harness in
            let named = try await harness.room(harness.alice, with: harness.bob, name: "Kitchen")
            let unnamed = try await harness.room(harness.alice, with: harness.bob)
            let emitted = try await harness.ask("rooms.names") { json in
                json.name("roomIds")
                json.array(of: [unnamed, named, "unknown"]) { $0.string($1) }
            }
            #expect(emitted.data.text == #"{"names":[null,"Kitchen",null]}"#)
        }
    }

    @Test("shared rooms of two people are listed; an unknown person differs from one without rooms")
    func shared() async throws {
        try await RoomsHarness.serving { harness in
            let ids = [
                try await harness.room(harness.alice, with: harness.bob),
                try await harness.room(harness.bob, with: harness.alice),
            ]
            _ = try await harness.room(harness.alice, with: harness.carol)
            let newcomer = Caller(id: "newcomer", username: "newcomer", firstName: nil)
            harness.accounts.add(newcomer)
            func shared(_ person: Caller, _ otherID: String) async throws -> [String]? {
                let reply = try await harness.ask("rooms.shared", by: person) {
                    $0.member("userId", person.id)
                    $0.member("otherUserId", otherID)
                }
                return reply.data.array?.compactMap(Membership.init).map(\.roomID).sorted()
            }
            #expect(try await shared(harness.alice, harness.bob.id) == ids)
            #expect(try await shared(harness.bob, harness.alice.id) == ids)
            #expect(try await shared(harness.bob, harness.carol.id) == [])
            #expect(try await shared(harness.bob, newcomer.id) == [])
            #expect(try await shared(harness.bob, harness.bob.id) == [])
            for id in ["nobody", "nul\0"] {
                #expect(await failure { try await shared(harness.bob, id) } == .userNotFound)
            }

            harness.accounts.takeDown()
            #expect(try await shared(harness.alice, harness.bob.id) == ids)
            #expect(await failure { try await shared(harness.alice, "nobody") }?.code == .serviceUnavailable)
        }
    }

    @Test("every route of the manifest is answered, and refused without a caller")
    func manifest() async throws {
        try await RoomsHarness.serving { harness in
            #expect(harness.service.manifest.hasEventLog)
            let limits = Set(harness.service.manifest.limits.map(\.name))
            for route in harness.service.manifest.routes {
                #expect(route.method == "GET" ? route.limits.isEmpty : !route.limits.isEmpty)
                #expect(limits.isSuperset(of: route.limits))
                #expect(await failure { try await harness.ask(route.subject) }?.code == .unauthenticated)
            }
        }
    }
}
