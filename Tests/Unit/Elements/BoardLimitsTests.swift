import ParlorContracts
import ParlorJSON
import Testing

@testable import ParlorElements

@Suite("The size limits of a board")
struct BoardLimitsTests {
    private static let fullByCount = ["--max-room-elements", "3"]
    private static let fullByBytes = ["--max-room-bytes", "128k"]

    private func content(_ count: Int) -> String { #","content":{"a":"\#(String(repeating: "x", count: count))"}"# }

    @Test("an element over the limit is refused without an event, and fits once another is deleted")
    func count() async throws {
        try await ElementsHarness.serving(Self.fullByCount) { harness in
            var ids: [String] = []
            for _ in 1...3 { ids.append(try await harness.create().text("id")) }
            _ = harness.takeEntries()
            let refusal = try await harness.refusal("elements.create", #"{"type":"note"}"#)
            #expect(refusal?.code == .payloadTooLarge && refusal?.message.contains("3 elements") == true)
            #expect(harness.takeEntries().isEmpty)
            #expect(try await harness.list().count == 3)
            _ = try await harness.ask("elements.update", #"{"elementId":"\#(ids[0])","content":{"a":1}}"#)
            _ = try await harness.create(in: ElementsHarness.otherRoom)
            _ = try await harness.ask("elements.delete", #"{"elementId":"\#(ids[1])"}"#)
            _ = try await harness.create()
            _ = try await harness.ask("elements.clear")
            for _ in 1...3 { _ = try await harness.create() }
        }
    }

    @Test("bytes count at creation and update, and no longer after a deletion or a clearing")
    func bytes() async throws {
        try await ElementsHarness.serving(Self.fullByBytes) { harness in
            let large = try await harness.create(content(60_000)).text("id")
            let small = try await harness.create(content(10)).text("id")
            let other = try await harness.create(content(60_000)).text("id")
            #expect(
                try await harness.refusal("elements.create", #"{"type":"note"\#(content(20_000))}"#)?.code
                    == .payloadTooLarge)
            let grown = #"{"elementId":"\#(small)"\#(content(20_000))}"#
            #expect(try await harness.refusal("elements.update", grown)?.code == .payloadTooLarge)
            // An update that makes an element smaller, or only moves it, always passes.
            _ = try await harness.ask("elements.update", #"{"elementId":"\#(large)"\#(content(30_000))}"#)
            _ = try await harness.ask("elements.update", grown)
            _ = try await harness.ask("elements.update", #"{"elementId":"\#(small)","position":{"x":1,"y":2}}"#)
            _ = try await harness.ask("elements.delete", #"{"elementId":"\#(other)"}"#)
            _ = try await harness.create(content(60_000))
            #expect(try await harness.countedAgain() == [])
            _ = try await harness.ask("elements.clear")
            for _ in 1...2 { _ = try await harness.create(content(60_000)) }
        }
    }

    private static let twoOfAPerson = ["--max-person-elements", "2"]

    @Test("a person's elements are limited over all rooms together, and deleting one allows another")
    func elementsOfAPerson() async throws {
        try await ElementsHarness.serving(Self.twoOfAPerson) { harness in
            let first = try await harness.create().text("id")
            _ = try await harness.create(in: ElementsHarness.otherRoom)
            _ = harness.takeEntries()
            let refusal = try await harness.refusal("elements.create", #"{"type":"note"}"#)
            #expect(refusal?.code == .payloadTooLarge && refusal?.message.contains("2 elements") == true)
            #expect(harness.takeEntries().isEmpty)
            #expect(try await harness.list().count == 1)
            // Nobody else is refused because of it, and it counts for her, whoever deletes it.
            _ = try await harness.create(by: ElementsHarness.bob)
            _ = try await harness.ask("elements.delete", by: ElementsHarness.bob, #"{"elementId":"\#(first)"}"#)
            _ = try await harness.create()
            #expect(try await harness.refusal("elements.create", #"{"type":"note"}"#) != nil)
            _ = try await harness.ask("elements.clear", by: ElementsHarness.bob, in: ElementsHarness.otherRoom)
            _ = try await harness.create()
            #expect(try await harness.countedAgain() == [])
        }
    }

    @Test("an element counts for the person who made it larger: nobody can use up another's quota")
    func bytesOfAPerson() async throws {
        try await ElementsHarness.serving(["--max-person-bytes", "128k"]) { harness in
            let hers = try await harness.create(content(10)).text("id")
            _ = try await harness.create(content(60_000))
            _ = try await harness.create(by: ElementsHarness.bob, in: ElementsHarness.otherRoom, content(60_000))
            func update(_ id: String, by userID: String, _ count: Int) async throws -> ServiceError? {
                try await harness.refusal("elements.update", by: userID, #"{"elementId":"\#(id)"\#(content(count))}"#)
            }
            #expect(try await update(hers, by: ElementsHarness.bob, 60_000) == nil, "it is on Bob's account now")
            #expect(try await harness.refusal("elements.create", #"{"type":"note"\#(content(60_000))}"#) == nil)
            for person in [ElementsHarness.alice, ElementsHarness.bob] {
                let refusal = try await harness.refusal(
                    "elements.create", by: person, #"{"type":"note"\#(content(20_000))}"#)
                #expect(refusal?.code == .payloadTooLarge && refusal?.message.contains("128 KiB") == true)
            }
            // It stays on Bob's account when somebody makes it smaller, which is never refused.
            #expect(try await update(hers, by: ElementsHarness.alice, 50_000) == nil)
            #expect(try await update(hers, by: ElementsHarness.alice, 60_000)?.code == .payloadTooLarge)
            _ = try await harness.ask("elements.update", #"{"elementId":"\#(hers)","position":{"x":1,"y":2}}"#)
            _ = try await harness.ask("elements.delete", #"{"elementId":"\#(hers)"}"#)
            #expect(
                try await harness.refusal(
                    "elements.create", by: ElementsHarness.bob, #"{"type":"note"\#(content(60_000))}"#)
                    == nil)
            #expect(try await harness.countedAgain() == [])
        }
    }

    @Test("without rate limits only the room's limit counts")
    func off() async throws {
        try await ElementsHarness.serving(Self.twoOfAPerson + Self.fullByCount + ["--rate-limits", "off"]) { harness in
            for _ in 1...3 { _ = try await harness.create() }
            #expect(try await harness.refusal("elements.create", #"{"type":"note"}"#)?.message.contains("room") == true)
        }
    }

    @Test("a retry of a created element is answered, however full the board is by now")
    func retry() async throws {
        try await ElementsHarness.serving(Self.fullByCount) { harness in
            let first = try await harness.ask("elements.create", #"{"type":"note","tempId":"t"}"#)
            for _ in 1...2 { _ = try await harness.create() }
            let again = try await harness.ask("elements.create", #"{"type":"note","tempId":"t"}"#)
            #expect(again.isDuplicate && again.data == first.data)
        }
    }
}
