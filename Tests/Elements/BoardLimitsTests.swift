import JSON
import Testing

@testable import Elements

@Suite("How much lies on a board")
struct BoardLimitsTests {
    private static let fullByCount = ["--max-room-elements", "3"]
    private static let fullByBytes = ["--max-room-bytes", "128k"]

    private func content(_ count: Int) -> String { #","content":{"a":"\#(String(repeating: "x", count: count))"}"# }

    @Test("one element more than may be is refused, tells nobody, and has a place once another is gone")
    func count() async throws {
        try await ElementsWorld.serving(Self.fullByCount) { world in
            var ids: [String] = []
            for _ in 1...3 { ids.append(try await world.create().text("id")) }
            _ = world.takeEntries()
            let refusal = try await world.refusal("elements.create", #"{"type":"note"}"#)
            #expect(refusal?.code == .payloadTooLarge && refusal?.message.contains("3 elements") == true)
            #expect(world.takeEntries().isEmpty)
            #expect(try await world.list().count == 3)
            _ = try await world.ask("elements.update", #"{"elementId":"\#(ids[0])","content":{"a":1}}"#)
            _ = try await world.create(in: ElementsWorld.otherRoom)
            _ = try await world.ask("elements.delete", #"{"elementId":"\#(ids[1])"}"#)
            _ = try await world.create()
            _ = try await world.ask("elements.clear")
            for _ in 1...3 { _ = try await world.create() }
        }
    }

    @Test("bytes count at a creation and at an update, and no longer after a deletion or a clearing")
    func bytes() async throws {
        try await ElementsWorld.serving(Self.fullByBytes) { world in
            let large = try await world.create(content(60_000)).text("id")
            let small = try await world.create(content(10)).text("id")
            let other = try await world.create(content(60_000)).text("id")
            #expect(
                try await world.refusal("elements.create", #"{"type":"note"\#(content(20_000))}"#)?.code
                    == .payloadTooLarge)
            let grown = #"{"elementId":"\#(small)"\#(content(20_000))}"#
            #expect(try await world.refusal("elements.update", grown)?.code == .payloadTooLarge)
            // What becomes smaller, or is only moved, always may.
            _ = try await world.ask("elements.update", #"{"elementId":"\#(large)"\#(content(30_000))}"#)
            _ = try await world.ask("elements.update", grown)
            _ = try await world.ask("elements.update", #"{"elementId":"\#(small)","position":{"x":1,"y":2}}"#)
            _ = try await world.ask("elements.delete", #"{"elementId":"\#(other)"}"#)
            _ = try await world.create(content(60_000))
            let found = try await world.database.read {
                try ElementsService.differences(in: ElementsWorld.room, members: [], on: $0).map(\.text)
            }
            #expect(found == [])
            _ = try await world.ask("elements.clear")
            for _ in 1...2 { _ = try await world.create(content(60_000)) }
        }
    }

    @Test("a retry of what was made is answered, however full the board is by now")
    func retry() async throws {
        try await ElementsWorld.serving(Self.fullByCount) { world in
            let first = try await world.ask("elements.create", #"{"type":"note","tempId":"t"}"#)
            for _ in 1...2 { _ = try await world.create() }
            let again = try await world.ask("elements.create", #"{"type":"note","tempId":"t"}"#)
            #expect(again.isDuplicate && again.data == first.data)
        }
    }
}
