import ParlorContracts
import ParlorJSON
import Testing

@testable import ParlorElements

@Suite("Unseen elements")
struct BadgesTests {
    @Test("an element is unseen for the others, and not for its author")
    func counting() async throws {
        try await ElementsHarness.serving { harness in
            _ = try await harness.create()
            _ = try await harness.create()
            _ = try await harness.create(by: ElementsHarness.bob)
            #expect(try await harness.badge(of: ElementsHarness.alice) == 1)
            #expect(try await harness.badge(of: ElementsHarness.bob) == 2)
            #expect(try await harness.badge(of: ElementsHarness.bob, in: ElementsHarness.otherRoom) == 0)
        }
    }

    @Test("changing, deleting and clearing leave the count of unseen elements")
    func otherChanges() async throws {
        try await ElementsHarness.serving { harness in
            let ids = [try await harness.create().text("id"), try await harness.create().text("id")]
            _ = try await harness.ask("elements.update", #"{"elementId":"\#(ids[0])","content":{}}"#)
            _ = try await harness.ask("elements.delete", by: ElementsHarness.bob, #"{"elementId":"\#(ids[0])"}"#)
            _ = try await harness.ask("elements.clear")
            #expect(try await harness.badge(of: ElementsHarness.bob) == 2)
            #expect(try await harness.contribution(for: ElementsHarness.bob)?.elementCount == 0)
        }
    }

    @Test("opening a room marks all in it seen, and notifies the person if anything was unseen")
    func opening() async throws {
        try await ElementsHarness.serving { harness in
            let (alice, bob) = (ElementsHarness.alice, ElementsHarness.bob)
            _ = try await harness.create()
            _ = try await harness.create(in: ElementsHarness.otherRoom)
            _ = harness.takeEntries()
            let reply = try await harness.presence(of: bob, on: "g1", isOpen: true)
            let entries = harness.takeEntries()
            #expect(entries.map(\.seq) == [3] && reply.position == EntryPosition(log: "elements", seq: 3))
            let emitted = try #require(entries.first?.emissions)
            #expect(emitted.map(\.event) == ["room:badges"] && emitted[0].audience == .person(bob))
            #expect(emitted[0].composition == .badges)
            #expect(emitted[0].data.text == #"{"roomId":"room-1","badges":{"elements":0}}"#)
            #expect(entries.first?.roomID == ElementsHarness.room && entries.first?.participants == [bob])
            #expect(try await harness.badge(of: bob) == 0)
            #expect(try await harness.badge(of: bob, in: ElementsHarness.otherRoom) == 1)

            let again = try await harness.presence(of: bob, on: "g2", isOpen: true)
            let nothing = try await harness.presence(of: alice, on: "g1", isOpen: true)
            #expect(again.position == nil && nothing.position == nil && harness.takeEntries().isEmpty)
        }
    }

    @Test("the badge stays zero while the room is open on any gateway, and elements from then stay seen")
    func whileOpen() async throws {
        try await ElementsHarness.serving { harness in
            let bob = ElementsHarness.bob
            for gateway in ["g1", "g1", "g2"] { _ = try await harness.presence(of: bob, on: gateway, isOpen: true) }
            _ = try await harness.create()
            #expect(try await harness.badge(of: bob) == 0)
            _ = try await harness.presence(of: bob, on: "g1", isOpen: false)
            _ = try await harness.create()
            #expect(try await harness.badge(of: bob) == 0)
            _ = try await harness.presence(of: bob, on: "g2", isOpen: false)
            #expect(try await harness.badge(of: bob) == 0)
            _ = try await harness.create()
            #expect(try await harness.badge(of: bob) == 1)
        }
    }

    @Test("closing a room that is not open does nothing")
    func closing() async throws {
        try await ElementsHarness.serving { harness in
            _ = try await harness.create()
            let reply = try await harness.presence(of: ElementsHarness.bob, on: "g1", isOpen: false)
            #expect(reply.position == nil)
            #expect(try await harness.badge(of: ElementsHarness.bob) == 1)
        }
    }

    @Test("several rooms open in one request, whose position is that of the last entry written")
    func several() async throws {
        try await ElementsHarness.serving { harness in
            _ = try await harness.create()
            _ = try await harness.create(in: ElementsHarness.otherRoom)
            let rooms =
                #"[{"roomId":"room-1","userId":"bob"},{"roomId":"room-2","userId":"bob"},{"roomId":"x","userId":"y"}]"#
            let request = try JSONValue(parsing: #"{"gateway":"g1","isOpen":true,"rooms":\#(rooms)}"#)
            #expect(try await harness.ask("elements.presence", request).position?.seq == 4)
            #expect(try await harness.badge(of: ElementsHarness.bob) == 0)
            #expect(try await harness.badge(of: ElementsHarness.bob, in: ElementsHarness.otherRoom) == 0)
        }
    }

    @Test("rooms are answered in the requested order, null for those without a board")
    func contribution() async throws {
        try await ElementsHarness.serving { harness in
            _ = try await harness.create(in: ElementsHarness.otherRoom)
            harness.clock.advance(by: .seconds(1))
            _ = try await harness.create()
            _ = try await harness.create()
            let request = try JSONValue(parsing: #"{"userId":"bob","roomIds":["room-1","none","room-2","room-1"]}"#)
            let now = harness.clock.now().milliseconds
            let reply = try await harness.ask("elements.contribute", request)
            #expect(reply.data.text == #"{"rooms":[[2,2,2,\#(now)],null,[1,1,1,\#(now - 1000)],[2,2,2,\#(now)]]}"#)
        }
    }
}
