import ParlorContracts
import ParlorJSON
import Testing

@testable import ParlorElements

@Suite("Changing and deleting elements")
struct ChangingElementsTests {
    @Test("given fields are replaced, the rest stays, and the update has its author, time and version")
    func update() async throws {
        try await ElementsHarness.serving { harness in
            let made = try await harness.create(#","content":{"a":1,"b":2},"position":{"x":0,"y":0},"tempId":"t""#)
            let id = try made.text("id")
            harness.clock.advance(by: .milliseconds(5))
            let reply = try await harness.ask(
                "elements.update", by: ElementsHarness.bob, #"{"elementId":"\#(id)","content":{"a":3}}"#)
            let changed = try #require(reply.data.object)
            #expect(reply.status == .ok && reply.position == EntryPosition(log: "elements", seq: 2))
            #expect(changed["content"]?.text == #"{"a":3}"# && changed["position"] == made["position"])
            #expect(changed["createdBy"] == made["createdBy"] && changed["createdAt"] == made["createdAt"])
            #expect(changed["updatedBy"]?.string == ElementsHarness.bob)
            #expect(changed["updatedAt"]?.string == harness.clock.now().iso)
            #expect(changed["version"]?.int == 2 && changed["tempId"] == made["tempId"])

            let moved = try await harness.ask("elements.update", #"{"elementId":"\#(id)","position":{"x":7,"y":8.25}}"#)
            #expect(moved.data["position"]?.text == #"{"x":7,"y":8.25}"# && moved.data["content"] == changed["content"])
            let lifted = try await harness.ask("elements.update", #"{"elementId":"\#(id)","position":null}"#)
            #expect(lifted.data["position"] == .null && lifted.data["version"]?.int == 4)
            #expect(try await harness.list() == [lifted.data])
        }
    }

    @Test(
        "an update without changes is refused, also of an element that does not exist",
        arguments: [#""#, #","content":null"#, #","version":1"#])
    func nothingGiven(members: String) async throws {
        try await ElementsHarness.serving { harness in
            let refusal = try await harness.refusal("elements.update", #"{"elementId":"nonsense"\#(members)}"#)
            #expect(refusal?.code == .invalidField)
        }
    }

    @Test("an update with an outdated version conflicts, and changes nothing")
    func conflict() async throws {
        try await ElementsHarness.serving { harness in
            let id = try await harness.create().text("id")
            let changed = try await harness.ask(
                "elements.update", #"{"elementId":"\#(id)","content":{"n":1},"version":1}"#)
            _ = harness.takeEntries()
            for version in [1, 3, 0, -1] {
                let refusal = try await harness.refusal(
                    "elements.update", #"{"elementId":"\#(id)","content":{"n":2},"version":\#(version)}"#)
                #expect(refusal?.code == .versionConflict)
            }
            let wrong = try await harness.refusal(
                "elements.update", #"{"elementId":"\#(id)","content":{},"version":"2"}"#)
            #expect(wrong?.code == .malformedRequest)
            #expect(try await harness.list() == [changed.data])
            #expect(harness.takeEntries().isEmpty)
        }
    }

    @Test("one of many concurrent updates from one version succeeds")
    func race() async throws {
        try await ElementsHarness.serving { harness in
            let id = try await harness.create().text("id")
            let wins = try await withThrowingTaskGroup(of: Bool.self) { group in
                for n in 0..<20 {
                    group.addTask {
                        try await harness.refusal(
                            "elements.update", #"{"elementId":"\#(id)","content":{"n":\#(n)},"version":1}"#) == nil
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(wins == 1)
        }
    }

    @Test("any participant can delete an element, once")
    func delete() async throws {
        try await ElementsHarness.serving { harness in
            let kept = try await harness.create().text("id")
            let gone = try await harness.create().text("id")
            let request = #"{"elementId":"\#(gone)","content":{}}"#
            let reply = try await harness.ask("elements.delete", by: ElementsHarness.bob, request)
            #expect(reply.status == .noContent && reply.position == EntryPosition(log: "elements", seq: 3))
            #expect(try await harness.list().map { $0["id"]?.string } == [kept])
            #expect(harness.takeEntries().last?.fact == .elementDeleted(id: gone))
            let asked = JSONWriter.object {
                $0.member("elementIds", array: { for id in [gone, kept, "unknown"] { $0.string(id) } })
            }
            let existing = try await harness.ask("elements.existing", asked)
            #expect(existing.data.text == #"{"elementIds":["\#(kept)"]}"#)
            #expect(try await harness.refusal("elements.delete", request) == .elementNotFound)
            #expect(try await harness.refusal("elements.update", request) == .elementNotFound)
            #expect(harness.takeEntries().isEmpty)
        }
    }

    @Test("an element is found in its own room only")
    func otherRoom() async throws {
        try await ElementsHarness.serving { harness in
            let element = try await harness.create()
            let request = #"{"elementId":"\#(try element.text("id"))","content":{}}"#
            for subject in ["elements.update", "elements.delete"] {
                let refusal = try await harness.refusal(subject, in: ElementsHarness.otherRoom, request)
                #expect(refusal == .elementNotFound)
            }
            #expect(try await harness.list().count == 1)
        }
    }

    @Test("clearing empties one room and returns the count; an empty room stays as it is, without an event")
    func clear() async throws {
        try await ElementsHarness.serving { harness in
            let kept = try await harness.create(in: ElementsHarness.otherRoom).text("id")
            for _ in 0..<4 { _ = try await harness.create() }
            let reply = try await harness.ask("elements.clear", by: ElementsHarness.bob)
            #expect(reply.data.text == #"{"deletedCount":4}"#)
            #expect(reply.position == EntryPosition(log: "elements", seq: 6))
            #expect(try await harness.list().isEmpty)
            #expect(try await harness.list(in: ElementsHarness.otherRoom).map { $0["id"]?.string } == [kept])

            let before = try await harness.contribution(for: ElementsHarness.alice)
            #expect(harness.takeEntries().last?.fact == .boardCleared)
            harness.clock.advance(by: .seconds(60))
            let again = try await harness.ask("elements.clear")
            #expect(again.data.text == #"{"deletedCount":0}"# && again.position == nil)
            #expect(harness.takeEntries().isEmpty)
            let after = try await harness.contribution(for: ElementsHarness.alice)
            #expect(before?.updatedAt == after?.updatedAt)
        }
    }

    @Test("a clock that goes back affects neither times nor order")
    func clockGoesBack() async throws {
        try await ElementsHarness.serving { harness in
            let first = try await harness.create()
            harness.clock.advance(by: .seconds(-3600))
            let second = try await harness.create()
            #expect(second["createdAt"] == first["createdAt"])
            let ids = [try first.text("id"), try second.text("id")]
            #expect(ids.sorted() == ids)
            #expect(try await harness.list().map { $0["id"]?.string } == ids)
        }
    }
}
