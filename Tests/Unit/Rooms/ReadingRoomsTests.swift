import Contracts
import JSON
import ServiceKitTesting
import Testing

@testable import Rooms

@Suite("Reading rooms")
struct ReadingRoomsTests {
    @Test("one room is shown to its participants alike, and to others as if there were none")
    func get() async throws {
        try await RoomsWorld.serving { world in
            let created = try await world.create(world.alice, with: world.bob)
            let id = try created.roomID
            for person in [world.alice, world.bob] {
                #expect(try await world.get(id, by: person).data == created.data)
            }
            #expect(await failure { try await world.get(id, by: world.carol) } == .roomNotFound)
            for id in ["none", "", "nul\0", "' OR 1=1 --"] {
                #expect(await failure { try await world.get(id, by: world.alice) } == .roomNotFound)
            }
        }
    }

    @Test("a list has one's own rooms, those made last first, each as it is by itself")
    func list() async throws {
        try await RoomsWorld.serving { world in
            var ids: [String] = []
            for other in [world.bob, world.carol, world.bob] {
                ids.append(try await world.room(world.alice, with: other, name: "\(ids.count)"))
                world.clock.advance(by: .seconds(1))
            }
            let list = try await world.list(of: world.alice)
            #expect(list.roomIDs == ids.reversed() && list.page == nil)
            let newest = try await world.get(ids[2], by: world.alice)
            #expect(list.data.array?.first == newest.data)
            #expect(try await world.list(of: world.bob).roomIDs == [ids[2], ids[0]])
            #expect(try await world.list(of: world.alice, cursor: ids[2]).roomIDs == [ids[1], ids[0]])
            #expect(try await world.list(of: world.alice, cursor: ids[0]).roomIDs == [])
            #expect(await failure { try await world.ask("rooms.list") }?.code == .unauthenticated)
        }
    }

    @Test("rooms by person come with each person once, and with the addresses that Accounts shows to roommates")
    func byPerson() async throws {
        try await RoomsWorld.serving { world in
            for other in [world.bob, world.carol, world.bob] { _ = try await world.room(world.alice, with: other) }
            let reply = try await world.ask("rooms.by-person", by: world.alice)
            let listed = try await world.list(of: world.alice)
            #expect(reply.data["rooms"] == listed.data)
            let people = try #require(reply.data["people"]?.array).compactMap(Person.init)
            #expect(
                people.sorted { $0.id < $1.id } == [
                    Person(id: world.bob.id, username: "bob", firstName: nil, email: "bob@example.org"),
                    Person(id: world.carol.id, username: "carol", firstName: "Carol", email: "carol@example.org"),
                ])

            world.accounts.goAway()
            let without = try await world.ask("rooms.by-person", by: world.alice)
            #expect(without.data["rooms"] == listed.data)
            let nameless = try #require(without.data["people"]?.array).compactMap(Person.init)
            #expect(nameless.map(\.username).sorted() == ["bob", "carol"])
            #expect(nameless.allSatisfy { $0.email == nil })
        }
    }

    @Test("somebody without rooms has empty lists")
    func newcomer() async throws {
        try await RoomsWorld.serving { world in
            #expect(try await world.list(of: world.carol).data == .emptyArray)
            let grouped = try await world.ask("rooms.by-person", by: world.carol)
            #expect(grouped.data.text == #"{"rooms":[],"people":[]}"#)
        }
    }
}

@Suite("What other services ask of rooms")
struct ServiceQuestionsTests {
    @Test("who is in a room, told to whoever asks")
    func membership() async throws {
        try await RoomsWorld.serving { world in
            let id = try await world.room(world.alice, with: world.bob)
            let reply = try await world.ask("rooms.membership") { $0.member("roomId", id) }
            let membership = try #require(Membership(reply.data))
            #expect(membership.roomID == id && membership.userIDs == [world.alice.id, world.bob.id])
            for id in ["none", "nul\0"] {
                let error = await failure { try await world.ask("rooms.membership") { $0.member("roomId", id) } }
                #expect(error == .roomNotFound)
            }
        }
    }

    @Test("with whom somebody shares rooms: each once, and never themselves")
    func partners() async throws {
        try await RoomsWorld.serving { world in
            for other in [world.bob, world.carol, world.bob] { _ = try await world.room(world.alice, with: other) }
            func partners(_ person: Caller) async throws -> [String]? {
                try await world.ask("rooms.partners") { $0.member("userId", person.id) }
                    .data.array?.compactMap(\.string).sorted()
            }
            #expect(try await partners(world.alice) == [world.bob.id, world.carol.id])
            #expect(try await partners(world.bob) == [world.alice.id])
            #expect(try await partners(Caller(id: "nobody", username: "", firstName: nil)) == [])
        }
    }

    @Test("what rooms are called, in the order asked for; null for one without a name, and for none")
    func names() async throws {
        try await RoomsWorld.serving { world in
            let named = try await world.room(world.alice, with: world.bob, name: "Kitchen")
            let unnamed = try await world.room(world.alice, with: world.bob)
            let told = try await world.ask("rooms.names") { json in
                json.name("roomIds")
                json.array(of: [unnamed, named, "unknown"]) { $0.string($1) }
            }
            #expect(told.data.text == #"{"names":[null,"Kitchen",null]}"#)
        }
    }

    @Test("which rooms two people share; nobody is not somebody without rooms")
    func shared() async throws {
        try await RoomsWorld.serving { world in
            let ids = [
                try await world.room(world.alice, with: world.bob), try await world.room(world.bob, with: world.alice),
            ]
            _ = try await world.room(world.alice, with: world.carol)
            let newcomer = Caller(id: "newcomer", username: "newcomer", firstName: nil)
            world.accounts.add(newcomer)
            func shared(_ person: Caller, _ otherID: String) async throws -> [String]? {
                let reply = try await world.ask("rooms.shared", by: person) {
                    $0.member("userId", person.id)
                    $0.member("otherUserId", otherID)
                }
                return reply.data.array?.compactMap(Membership.init).map(\.roomID).sorted()
            }
            #expect(try await shared(world.alice, world.bob.id) == ids)
            #expect(try await shared(world.bob, world.alice.id) == ids)
            #expect(try await shared(world.bob, world.carol.id) == [])
            #expect(try await shared(world.bob, newcomer.id) == [])
            #expect(try await shared(world.bob, world.bob.id) == [])
            for id in ["nobody", "nul\0"] {
                #expect(await failure { try await shared(world.bob, id) } == .userNotFound)
            }

            world.accounts.goAway()
            #expect(try await shared(world.alice, world.bob.id) == ids)
            #expect(await failure { try await shared(world.alice, "nobody") }?.code == .serviceUnavailable)
        }
    }

    @Test("every route of the manifest is answered, and refused to nobody in particular")
    func manifest() async throws {
        try await RoomsWorld.serving { world in
            #expect(world.service.manifest.hasEventLog)
            let limits = Set(world.service.manifest.limits.map(\.name))
            for route in world.service.manifest.routes {
                #expect(route.method == "GET" ? route.limits.isEmpty : !route.limits.isEmpty)
                #expect(limits.isSuperset(of: route.limits))
                #expect(await failure { try await world.ask(route.subject) }?.code == .unauthenticated)
            }
        }
    }
}
