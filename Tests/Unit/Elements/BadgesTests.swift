import Contracts
import JSON
import Testing

@testable import Elements

@Suite("Who has seen what")
struct BadgesTests {
    @Test("an element is unseen by the others, and not by its maker")
    func counting() async throws {
        try await ElementsWorld.serving { world in
            _ = try await world.create()
            _ = try await world.create()
            _ = try await world.create(by: ElementsWorld.bob)
            #expect(try await world.badge(of: ElementsWorld.alice) == 1)
            #expect(try await world.badge(of: ElementsWorld.bob) == 2)
            #expect(try await world.badge(of: ElementsWorld.bob, in: ElementsWorld.otherRoom) == 0)
        }
    }

    @Test("neither changing, nor deleting, nor clearing changes it")
    func otherChanges() async throws {
        try await ElementsWorld.serving { world in
            let ids = [try await world.create().text("id"), try await world.create().text("id")]
            _ = try await world.ask("elements.update", #"{"elementId":"\#(ids[0])","content":{}}"#)
            _ = try await world.ask("elements.delete", by: ElementsWorld.bob, #"{"elementId":"\#(ids[0])"}"#)
            _ = try await world.ask("elements.clear")
            #expect(try await world.badge(of: ElementsWorld.bob) == 2)
            #expect(try await world.contribution(for: ElementsWorld.bob)?.elementCount == 0)
        }
    }

    @Test("opening a room makes all in it seen, and tells the person, if there was something")
    func opening() async throws {
        try await ElementsWorld.serving { world in
            let (alice, bob) = (ElementsWorld.alice, ElementsWorld.bob)
            _ = try await world.create()
            _ = try await world.create(in: ElementsWorld.otherRoom)
            _ = world.takeEntries()
            let reply = try await world.presence(of: bob, on: "g1", isOpen: true)
            let entries = world.takeEntries()
            #expect(entries.map(\.seq) == [3] && reply.position == StreamPosition(stream: "elements", seq: 3))
            let told = try #require(entries.first?.emissions)
            #expect(told.map(\.event) == ["room:badges"] && told[0].audience == .person(bob))
            #expect(told[0].composition == .badges)
            #expect(told[0].data.text == #"{"roomId":"room-1","badges":{"elements":0}}"#)
            #expect(entries.first?.roomID == ElementsWorld.room && entries.first?.participants == [bob])
            #expect(try await world.badge(of: bob) == 0)
            #expect(try await world.badge(of: bob, in: ElementsWorld.otherRoom) == 1)

            let again = try await world.presence(of: bob, on: "g2", isOpen: true)
            let nothing = try await world.presence(of: alice, on: "g1", isOpen: true)
            #expect(again.position == nil && nothing.position == nil && world.takeEntries().isEmpty)
        }
    }

    @Test("it stays zero while the room is open on any gateway, and what came meanwhile stays seen")
    func whileOpen() async throws {
        try await ElementsWorld.serving { world in
            let bob = ElementsWorld.bob
            for gateway in ["g1", "g1", "g2"] { _ = try await world.presence(of: bob, on: gateway, isOpen: true) }
            _ = try await world.create()
            #expect(try await world.badge(of: bob) == 0)
            _ = try await world.presence(of: bob, on: "g1", isOpen: false)
            _ = try await world.create()
            #expect(try await world.badge(of: bob) == 0)
            _ = try await world.presence(of: bob, on: "g2", isOpen: false)
            #expect(try await world.badge(of: bob) == 0)
            _ = try await world.create()
            #expect(try await world.badge(of: bob) == 1)
        }
    }

    @Test("closing what is not open is nothing")
    func closing() async throws {
        try await ElementsWorld.serving { world in
            _ = try await world.create()
            let reply = try await world.presence(of: ElementsWorld.bob, on: "g1", isOpen: false)
            #expect(reply.position == nil)
            #expect(try await world.badge(of: ElementsWorld.bob) == 1)
        }
    }

    @Test("several rooms are opened at once, and the answer belongs after the last that told somebody")
    func several() async throws {
        try await ElementsWorld.serving { world in
            _ = try await world.create()
            _ = try await world.create(in: ElementsWorld.otherRoom)
            let rooms =
                #"[{"roomId":"room-1","userId":"bob"},{"roomId":"room-2","userId":"bob"},{"roomId":"x","userId":"y"}]"#
            let request = try JSONValue(parsing: #"{"gateway":"g1","isOpen":true,"rooms":\#(rooms)}"#)
            #expect(try await world.ask("elements.presence", request).position?.seq == 4)
            #expect(try await world.badge(of: ElementsWorld.bob) == 0)
            #expect(try await world.badge(of: ElementsWorld.bob, in: ElementsWorld.otherRoom) == 0)
        }
    }

    @Test("rooms are answered in the order they were asked for, those without a board with null")
    func contribution() async throws {
        try await ElementsWorld.serving { world in
            _ = try await world.create(in: ElementsWorld.otherRoom)
            world.clock.advance(by: .seconds(1))
            _ = try await world.create()
            _ = try await world.create()
            let request = try JSONValue(parsing: #"{"userId":"bob","roomIds":["room-1","none","room-2","room-1"]}"#)
            let now = world.clock.now().milliseconds
            let reply = try await world.ask("elements.contribute", request)
            #expect(reply.data.text == #"{"rooms":[[2,2,2,\#(now)],null,[1,1,1,\#(now - 1000)],[2,2,2,\#(now)]]}"#)
        }
    }
}
